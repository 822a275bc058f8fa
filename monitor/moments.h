// A watch made small enough to be drawn: of however many samples, so many moments.
#pragma once

#include <vector>

#include "graph/json/fields.h"
#include "monitor/sample.h"

namespace plimsoll::monitor {

struct DeviceMoment {
  std::optional<int64_t> bytes{};       // the most
  std::optional<double> utilisation{};  // the mean of those that tell it
  int64_t utilisations = 0;
  std::optional<double> power_watts{};   // the most
  std::optional<int64_t> sm_clock_hz{};  // the least
};

inline void describe(Fields& f, DeviceMoment& device) {
  f("bytes", device.bytes);
  f("utilisation", device.utilisation);
  f("power_watts", device.power_watts);
  f("sm_clock_hz", device.sm_clock_hz);
}

// What neighbouring samples come to: of memory and power the most, of loads the mean.
struct Moment {
  double seconds = 0;  // of its first sample
  int64_t samples = 0;
  int64_t host = 0;  // pages that processes share count once
  std::optional<int64_t> pss{};
  int64_t swap = 0;
  double cpu_share = 0;  // of one core
  std::vector<DeviceMoment> devices{};
};

inline void describe(Fields& f, Moment& moment) {
  f("seconds", moment.seconds, "of the first sample");
  f("samples", moment.samples, {.low = 1});
  f("host_bytes", moment.host);
  f("pss_bytes", moment.pss);
  f("swap_bytes", moment.swap);
  f("cpu_share", moment.cpu_share);
  f("gpus", moment.devices);
}

// Takes samples as they come, and keeps at most `figures` figures of them (6 of the host, 4 of each
// card): where there are more, neighbours become one, so that no peak is lost. Cost: some 100 ns a
// sample, and a memory that does not grow with the watch.
class Moments {
 public:
  explicit Moments(size_t figures = 6000) : figures_(figures) {}

  void take(const Sample& sample);
  const std::vector<Moment>& all() const { return moments_; }
  // Samples in each but the last; 1 where none were made one.
  int64_t samples_each() const { return samples_each_; }

 private:
  void halve();

  size_t figures_;
  int64_t samples_each_ = 1;
  DeviceBasis basis_ = DeviceBasis::kNone;
  std::vector<Moment> moments_;
};

}  // namespace plimsoll::monitor
