// Samples of a watch, for its views.
#pragma once

#include "monitor/sample.h"

namespace plimsoll::test {

inline constexpr int64_t kMebibyte = 1 << 20;

inline monitor::Sample host_sample(double seconds, int64_t resident_mib, double cpu_share = 1) {
  monitor::Sample sample{.seconds = seconds};
  sample.host.resident = sample.host.resident_high = sample.host.rss = resident_mib * kMebibyte;
  sample.host.members = {{.pid = 40, .name = "train", .rss = resident_mib * kMebibyte}};
  sample.cpu_share = cpu_share;
  return sample;
}

// Of a process on one card that another shares.
inline GpuReading card(int64_t pid, std::optional<int64_t> bytes) {
  GpuReading gpu{.name = "Tesla T4", .uuid = "GPU-1"};
  gpu.total_bytes = int64_t{16} << 30;
  gpu.used_bytes = int64_t{3} << 30;
  gpu.processes = std::vector<GpuProcess>{{.pid = 999'999, .bytes = int64_t{1} << 30},
                                          {.pid = pid, .bytes = bytes}};
  gpu.utilisation = 0.75;
  gpu.power_watts = 69.5;
  gpu.sm_clock_hz = 1'590'000'000;
  return gpu;
}

}  // namespace plimsoll::test
