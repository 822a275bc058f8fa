#include "monitor/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace plimsoll::monitor {
namespace {

void write_integer(JsonWriter& out, std::string_view key, const std::optional<int64_t>& value) {
  out.key(key);
  value ? out.integer(*value) : out.null();
}

void write_real(JsonWriter& out, std::string_view key, const std::optional<double>& value) {
  out.key(key);
  value ? out.real(*value) : out.null();
}

void write_host(JsonWriter& out, const Sample& sample) {
  const HostReading& host = sample.host;
  out.key("host").begin_object();
  out.key("resident_bytes").integer(host.resident);
  out.key("resident_high_bytes").integer(host.resident_high);
  out.key("rss_bytes").integer(host.rss);
  write_integer(out, "pss_bytes", host.pss);
  out.key("swap_bytes").integer(host.swap);
  out.key("cpu_share").real(sample.cpu_share);
  out.key("cpu_seconds").real(host.cpu_seconds);
  out.key("threads").integer(host.threads);
  out.key("minor_faults").integer(host.minor_faults);
  out.key("major_faults").integer(host.major_faults);
  write_integer(out, "read_bytes", host.read_bytes);
  write_integer(out, "written_bytes", host.written_bytes);
  out.key("processes").begin_array();
  for (const TreeMember& member : host.members) {
    out.begin_object();
    out.key("pid").integer(member.pid);
    out.key("name").string(member.name);
    out.key("rss_bytes").integer(member.rss).end_object();
  }
  out.end_array().end_object();
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
  write_integer(out, "bytes", bytes);
  write_integer(out, "total_bytes", gpu.total_bytes);
  write_integer(out, "used_bytes", gpu.used_bytes);
  write_real(out, "utilisation", gpu.utilisation);
  write_real(out, "memory_utilisation", gpu.memory_utilisation);
  write_integer(out, "pcie_received_per_s", gpu.pcie_received_per_s);
  write_integer(out, "pcie_sent_per_s", gpu.pcie_sent_per_s);
  write_real(out, "power_watts", gpu.power_watts);
  write_real(out, "temperature_c", gpu.temperature_c);
  write_integer(out, "sm_clock_hz", gpu.sm_clock_hz);
  write_integer(out, "memory_clock_hz", gpu.memory_clock_hz);
  out.key("processes");
  if (!gpu.processes) {
    out.null();
  } else {
    out.begin_array();
    for (const GpuProcess& process : *gpu.processes) {
      out.begin_object();
      out.key("pid").integer(process.pid);
      write_integer(out, "bytes", process.bytes);
      out.end_object();
    }
    out.end_array();
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
  if (!sample.faults.empty()) {
    out.key("faults").begin_array();
    for (const std::string& fault : sample.faults) out.string(fault);
    out.end_array();
  }
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
