// What a run went through: its memory grows, is steady, shrinks. Told from the samples alone, so it
// needs nothing of the program that is watched.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "graph/json/fields.h"
#include "monitor/sample.h"

namespace plimsoll::monitor {

enum class PhaseKind : uint8_t { kGrowing, kSteady, kShrinking };
std::string_view name(PhaseKind kind);
constexpr std::array<PhaseKind, 3> values_of(PhaseKind) {
  return {PhaseKind::kGrowing, PhaseKind::kSteady, PhaseKind::kShrinking};
}

struct Phase {
  PhaseKind kind = PhaseKind::kSteady;
  double begin = 0, end = 0;  // seconds since the watch began
  int64_t host_peak = 0;
  std::optional<int64_t> device_peak{};
  double cpu_share = 0;                     // its mean, of one core
  std::optional<double> gpu_utilisation{};  // its mean, of the busiest card
};

inline void describe(Fields& f, Phase& phase) {
  f("kind", phase.kind);
  f("begin", phase.begin);
  f("end", phase.end);
  f("host_peak_bytes", phase.host_peak);
  f("device_peak_bytes", phase.device_peak);
  f("cpu_share", phase.cpu_share);
  f("gpu_utilisation", phase.gpu_utilisation);
}

// The memory is the device's where a card tells, else the host's. It is steady while it differs by
// at most 2 % of the peak so far from what it was `window` seconds before; a phase lasts for that
// long at least.
class Phases {
 public:
  explicit Phases(double window) : window_(window) {}

  // True where a phase has ended, which is then the last but one of all().
  bool take(const Sample& sample);
  const std::vector<Phase>& all() const { return phases_; }

 private:
  void begin(PhaseKind kind, const Sample& sample);
  void extend(const Sample& sample);

  double window_;
  std::deque<std::pair<double, int64_t>> recent_;  // seconds, bytes
  int64_t peak_ = 1;
  std::vector<Phase> phases_;
  int64_t samples_ = 0, gpu_samples_ = 0;  // of the last phase
};

}  // namespace plimsoll::monitor
