#include "calibrate/device_properties.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "graph/json/writer.h"

namespace plimsoll {
namespace {

// CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability": shared
// memory that a block may opt in to, resident blocks and threads of a multiprocessor.
struct ArchitectureLimits {
  ComputeCapability capability;
  int64_t optin_bytes, blocks, threads;
};
constexpr int64_t kKiB = 1024;
constexpr ArchitectureLimits kLimits[] = {
    {{5, 0}, 48 * kKiB, 32, 2048},   {{5, 2}, 48 * kKiB, 32, 2048},
    {{5, 3}, 48 * kKiB, 32, 2048},   {{6, 0}, 48 * kKiB, 32, 2048},
    {{6, 1}, 48 * kKiB, 32, 2048},   {{6, 2}, 48 * kKiB, 32, 2048},
    {{7, 0}, 96 * kKiB, 32, 2048},   {{7, 2}, 96 * kKiB, 32, 2048},
    {{7, 5}, 64 * kKiB, 16, 1024},   {{8, 0}, 163 * kKiB, 32, 2048},
    {{8, 6}, 99 * kKiB, 16, 1536},   {{8, 7}, 163 * kKiB, 16, 1536},
    {{8, 9}, 99 * kKiB, 24, 1536},   {{9, 0}, 227 * kKiB, 32, 2048},
    {{10, 0}, 227 * kKiB, 32, 2048}, {{10, 3}, 227 * kKiB, 32, 2048},
    {{12, 0}, 99 * kKiB, 24, 1536},  {{12, 1}, 99 * kKiB, 24, 1536}};

int64_t kilohertz(double hertz) { return std::llround(hertz / 1e3); }

// As cudaDeviceProp.memoryClockRate prints it: half the rate of transfers, whatever the memory.
double memory_clock(const Device& d) {
  return d.bus_width > 0 ? d.bandwidth.value * 8 / static_cast<double>(d.bus_width) / 2 : 0;
}

}  // namespace

Result<std::string> device_properties(const Device& device) {
  const ComputeCapability capability = device.compute_capability;
  const ArchitectureLimits* limits = nullptr;
  for (const ArchitectureLimits& row : kLimits) {
    if (row.capability == capability) limits = &row;
  }
  if (!limits) {
    return error(
        "E703",
        fmt::format(
            "cuDNN 9 cannot be queried about {}: it does not support compute capability {}.{}",
            device.id, capability.major, capability.minor));
  }
  JsonWriter out;
  out.begin_object();
  out.key("deviceName").string(device.name);
  const std::pair<const char*, int64_t> numbers[] = {
      {"deviceVer", 100 * capability.major + 10 * capability.minor},
      {"driverVer", 12080},  // CUDA 12.8; 9.0 and later ask for 11.8 at least
      {"multiProcessorCount", device.sms},
      {"smClockRateKHz", kilohertz(device.boost_clock.value)},
      {"memClockRateKHz", kilohertz(memory_clock(device))},
      {"l2CacheSize", device.l2.value},
      {"totalGlobalMem", device.memory_reported.value},
      {"maxSharedMemoryPerBlock", 48 * kKiB},
      {"maxSharedMemoryPerBlockOptin", limits->optin_bytes},
      {"reservedSharedMemoryPerBlock", capability.major >= 8 ? kKiB : 0},
      {"maxCtasPerSM", limits->blocks},
      {"maxThreadsPerSM", limits->threads},
      {"maxThreadsPerBlock", 1024},
      {"regsPerBlock", 65536},
      {"maxRegistersPerSM", device.registers_per_sm},
      {"warpSize", 32},
      {"supportCoopLaunch", capability.major >= 6 ? 1 : 0},
      {"isTccDriver", 0},
      {"cudaDeviceId", 0},
      {"pciDeviceId", 0}};
  for (const auto& [key, value] : numbers) out.key(key).integer(value);
  const auto list = [&](const char* key, std::initializer_list<int64_t> extents) {
    out.key(key).begin_array();
    for (const int64_t extent : extents) out.integer(extent);
    out.end_array();
  };
  list("maxGridSize", {(int64_t{1} << 31) - 1, 65535, 65535});
  list("maxBlockSize", {1024, 1024, 64});
  out.end_object();
  return out.take();
}

}  // namespace plimsoll
