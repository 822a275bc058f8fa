#include "monitor/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace plimsoll::monitor {
namespace {

void write_host(JsonWriter& out, const Sample& sample) {
  const HostReading& host = sample.host;
  out.key("host").begin_object();
  out.key("resident_bytes").integer(host.resident);
  out.key("resident_high_bytes").integer(host.resident_high);
  out.key("rss_bytes").integer(host.rss);
  out.key("pss_bytes").integer(host.pss);
  out.key("swap_bytes").integer(host.swap);
  out.key("cpu_share").real(sample.cpu_share);
  out.key("cpu_seconds").real(host.cpu_seconds);
  out.key("threads").integer(host.threads);
  out.key("minor_faults").integer(host.minor_faults);
  out.key("major_faults").integer(host.major_faults);
  out.key("read_bytes").integer(host.read_bytes);
  out.key("written_bytes").integer(host.written_bytes);
  out.key("processes").objects(host.members, [&](const TreeMember& member) {
    out.key("pid").integer(member.pid);
    out.key("name").string(member.name);
    out.key("rss_bytes").integer(member.rss);
  });
  out.end_object();
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

void write(JsonWriter& out, const GpuReading& gpu, std::optional<int64_t> bytes) {
  out.begin_object();
  out.key("name").string(gpu.name);
  out.key("uuid").string(gpu.uuid);
  out.key("bytes").integer(bytes);
  out.key("total_bytes").integer(gpu.total_bytes);
  out.key("used_bytes").integer(gpu.used_bytes);
  out.key("utilisation").real(gpu.utilisation);
  out.key("memory_utilisation").real(gpu.memory_utilisation);
  out.key("pcie_received_per_s").integer(gpu.pcie_received_per_s);
  out.key("pcie_sent_per_s").integer(gpu.pcie_sent_per_s);
  out.key("power_watts").real(gpu.power_watts);
  out.key("temperature_c").real(gpu.temperature_c);
  out.key("sm_clock_hz").integer(gpu.sm_clock_hz);
  out.key("memory_clock_hz").integer(gpu.memory_clock_hz);
  out.key("processes");
  if (!gpu.processes) {
    out.null();
  } else {
    out.objects(*gpu.processes, [&](const GpuProcess& process) {
      out.key("pid").integer(process.pid);
      out.key("bytes").integer(process.bytes);
    });
  }
  out.end_object();
}

void write(JsonWriter& out, const Sample& sample) {
  out.begin_object();
  out.key("sample").integer(sample.number);
  out.key("seconds").real(sample.seconds);
  write_host(out, sample);
  out.key("device_basis").string(name(sample.basis));
  out.key("gpus").begin_array();
  for (const DeviceReading& device : sample.devices) write(out, device.gpu, device.bytes);
  out.end_array();
  if (!sample.faults.empty()) out.key("faults").strings(sample.faults);
  out.end_object();
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
