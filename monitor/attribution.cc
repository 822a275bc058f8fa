#include "monitor/attribution.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace plimsoll::monitor {
namespace {

// PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h, as the link shows it.
constexpr std::string_view kFirstNamespace = "pid:[4026531836]";

// Of the tree's processes on one card; nothing where the driver does not tell.
std::optional<int64_t> bytes_of(const GpuReading& gpu, const std::vector<TreeMember>& members) {
  if (!gpu.processes) return std::nullopt;
  int64_t sum = 0;
  for (const GpuProcess& process : *gpu.processes) {
    const bool ours = std::ranges::any_of(
        members, [&](const TreeMember& member) { return member.pid == process.pid; });
    if (!ours) continue;
    if (!process.bytes) return std::nullopt;
    sum += *process.bytes;
  }
  return sum;
}

}  // namespace

bool in_first_pid_namespace(const std::string& link) {
  std::array<char, 64> target{};
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
  return length > 0 &&
         std::string_view(target.data(), static_cast<size_t>(length)) == kFirstNamespace;
}

void attribute(GpuReadings readings, bool pids_are_ours, Sample& sample) {
  sample.faults = std::move(readings.faults);
  sample.basis = readings.gpus.empty() ? DeviceBasis::kNone : DeviceBasis::kProcess;
  for (GpuReading& gpu : readings.gpus) {
    const auto bytes = pids_are_ours ? bytes_of(gpu, sample.host.members) : std::nullopt;
    if (!bytes) sample.basis = DeviceBasis::kCard;
    sample.devices.push_back({.gpu = std::move(gpu), .bytes = bytes});
  }
  if (sample.basis != DeviceBasis::kCard) return;
  for (DeviceReading& device : sample.devices) device.bytes = device.gpu.used_bytes;
}

}  // namespace plimsoll::monitor
