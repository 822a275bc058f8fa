// A watched run as a whole: what it took at most, and how it ended.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "graph/json/fields.h"
#include "monitor/band.h"
#include "monitor/moments.h"
#include "monitor/phases.h"

namespace plimsoll::monitor {

struct DevicePeak {
  std::string name{};
  std::optional<int64_t> bytes{};
  std::optional<double> utilisation{};  // its mean
  std::optional<double> power_watts{};  // the most
  std::optional<int64_t> pcie_received_per_s{}, pcie_sent_per_s{};
  std::optional<int64_t> least_sm_clock_hz{};
};

inline void describe(Fields& f, DevicePeak& device) {
  f("name", device.name);
  f("peak_bytes", device.bytes);
  f("mean_utilisation", device.utilisation);
  f("peak_power_watts", device.power_watts);
  f("peak_pcie_received_per_s", device.pcie_received_per_s);
  f("peak_pcie_sent_per_s", device.pcie_sent_per_s);
  f("least_sm_clock_hz", device.least_sm_clock_hz);
}

struct Summary {
  int64_t pid = 0;
  std::string command{};
  int64_t samples = 0, missed = 0;
  double seconds = 0;
  int64_t processes = 0;  // at once, at most
  int64_t host_peak = 0, rss_peak = 0, swap_peak = 0;
  std::optional<int64_t> pss_peak{};
  double cpu_seconds = 0;
  int64_t minor_faults = 0, major_faults = 0;
  std::optional<int64_t> read_bytes{}, written_bytes{};
  DeviceBasis basis = DeviceBasis::kNone;
  std::optional<int64_t> device_peak{};  // of the card that had most
  std::vector<DevicePeak> devices{};
  std::vector<Phase> phases{};
  std::optional<Band> band{};
  bool band_left = false;  // upwards, at some time
  // 128 and the signal's number as a shell shows it; nothing where the run is not known to have
  // ended, or ended unseen.
  std::optional<int> exit_status{};
  bool ended = false;
  double own_cpu_share = 0;  // of one core, the monitor's own
  std::string gpu_source{};  // or why there is none
  std::vector<std::string> faults{};
};

// Adds up samples as they come.
class SummaryBuilder {
 public:
  explicit SummaryBuilder(std::optional<Band> band = {}) { summary_.band = std::move(band); }

  void take(const Sample& sample);
  // Of a process that ended between samples, as the kernel gives it to the parent.
  void take_peak(int64_t rss) { summary_.host_peak = std::max(summary_.host_peak, rss); }
  const Summary& so_far() const { return summary_; }

 private:
  void take_devices(const Sample& sample);

  Summary summary_;
  std::vector<int64_t> counted_;  // samples in each device's mean
};

// The object that --json ends with, in the form of `plimsoll schema monitor`; a page's has moments.
std::string to_json(const Summary& summary, std::span<const Moment> moments = {});
// For estimator/schemas: this program describes it, `plimsoll schema monitor` prints it.
std::string monitor_schema();

}  // namespace plimsoll::monitor
