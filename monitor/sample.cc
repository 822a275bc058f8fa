#include "monitor/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace plimsoll::monitor {
namespace {

void describe_host(Fields& f, Sample& sample) {
  HostReading& host = sample.host;
  f("resident_bytes", host.resident);
  f("resident_high_bytes", host.resident_high);
  f("rss_bytes", host.rss);
  f("pss_bytes", host.pss);
  f("swap_bytes", host.swap);
  f("cpu_share", sample.cpu_share);
  f("cpu_seconds", host.cpu_seconds);
  f("threads", host.threads);
  f("minor_faults", host.minor_faults);
  f("major_faults", host.major_faults);
  f("read_bytes", host.read_bytes);
  f("written_bytes", host.written_bytes);
  f("processes", host.members);
}

std::string cell(const std::optional<int64_t>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}
std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

constexpr std::array<std::string_view, 10> kGpuColumns = {
    "bytes",           "used_bytes",  "utilisation",   "memory_utilisation", "pcie_received_per_s",
    "pcie_sent_per_s", "power_watts", "temperature_c", "sm_clock_hz",        "memory_clock_hz"};

}  // namespace

std::string_view name(DeviceBasis basis) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "process", "card"};
  return kNames[static_cast<size_t>(basis)];
}

std::optional<int64_t> Sample::device_bytes() const {
  std::optional<int64_t> most;
  for (const DeviceReading& device : devices) {
    if (device.bytes) most = std::max(most.value_or(0), *device.bytes);
  }
  return most;
}

void describe(Fields& f, Sample& sample) {
  f("sample", sample.number);
  f("seconds", sample.seconds);
  f.object("host", [&] { describe_host(f, sample); });
  f("device_basis", sample.basis);
  f.list("gpus", sample.devices,
         [&](DeviceReading& device) { describe(f, device.gpu, device.bytes); });
  f("faults", sample.faults, {.absent_where = sample.faults.empty()});
}

std::string csv_header(size_t gpus) {
  std::string header =
      "seconds,processes,threads,resident_bytes,rss_bytes,pss_bytes,swap_bytes,cpu_share,"
      "cpu_seconds,minor_faults,major_faults,read_bytes,written_bytes";
  for (size_t i = 0; i < gpus; ++i) {
    for (const std::string_view column : kGpuColumns) header += fmt::format(",gpu{}_{}", i, column);
  }
  return header + "\n";
}

std::string csv_row(const Sample& sample, size_t gpus) {
  const HostReading& host = sample.host;
  std::string row =
      fmt::format("{:.6f},{},{},{},{},{},{},{:.4f},{:.2f},{},{},{},{}", sample.seconds,
                  host.members.size(), host.threads, host.resident, host.rss, cell(host.pss),
                  host.swap, sample.cpu_share, host.cpu_seconds, host.minor_faults,
                  host.major_faults, cell(host.read_bytes), cell(host.written_bytes));
  const DeviceReading none;
  for (size_t i = 0; i < gpus; ++i) {
    const DeviceReading& device = i < sample.devices.size() ? sample.devices[i] : none;
    const GpuReading& g = device.gpu;
    for (const std::string& text :
         {cell(device.bytes), cell(g.used_bytes), cell(g.utilisation), cell(g.memory_utilisation),
          cell(g.pcie_received_per_s), cell(g.pcie_sent_per_s), cell(g.power_watts),
          cell(g.temperature_c), cell(g.sm_clock_hz), cell(g.memory_clock_hz)})
      row += "," + text;
  }
  return row + "\n";
}

}  // namespace plimsoll::monitor
