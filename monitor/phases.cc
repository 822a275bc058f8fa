#include "monitor/phases.h"

#include <algorithm>
#include <array>

namespace plimsoll::monitor {
namespace {

constexpr double kSteady = 0.02;  // of the peak so far

std::optional<double> busiest(const Sample& sample) {
  std::optional<double> most;
  for (const DeviceReading& device : sample.devices) {
    if (device.gpu.utilisation) most = std::max(most.value_or(0), *device.gpu.utilisation);
  }
  return most;
}

}  // namespace

std::string_view name(PhaseKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"growing", "steady", "shrinking"};
  return kNames[static_cast<size_t>(kind)];
}

bool Phases::take(const Sample& sample) {
  const int64_t now = sample.device_bytes().value_or(sample.host.resident);
  recent_.emplace_back(sample.seconds, now);
  while (recent_.size() > 1 && recent_[1].first <= sample.seconds - window_) recent_.pop_front();
  peak_ = std::max(peak_, now);
  const auto change = static_cast<double>(now - recent_.front().second);
  const double steady = kSteady * static_cast<double>(peak_);
  const PhaseKind kind = change > steady    ? PhaseKind::kGrowing
                         : change < -steady ? PhaseKind::kShrinking
                                            : PhaseKind::kSteady;
  if (phases_.empty()) begin(kind, sample);
  const bool lasted = sample.seconds - phases_.back().begin >= window_;
  // Of the first sample nothing is known: the first phase takes its kind while it is young.
  if (phases_.size() == 1 && !lasted) phases_.back().kind = kind;
  const bool over = kind != phases_.back().kind && lasted;
  if (over) begin(kind, sample);
  extend(sample);
  return over;
}

void Phases::begin(PhaseKind kind, const Sample& sample) {
  if (!phases_.empty()) phases_.back().end = sample.seconds;
  phases_.push_back({.kind = kind, .begin = sample.seconds, .end = sample.seconds});
  samples_ = gpu_samples_ = 0;
}

void Phases::extend(const Sample& sample) {
  Phase& phase = phases_.back();
  phase.end = sample.seconds;
  phase.host_peak = std::max(phase.host_peak, sample.host.resident_high);
  if (const auto bytes = sample.device_bytes())
    phase.device_peak = std::max(phase.device_peak.value_or(0), *bytes);
  const auto mean = [](double so_far, double next, int64_t count) {
    return so_far + (next - so_far) / static_cast<double>(count);
  };
  phase.cpu_share = mean(phase.cpu_share, sample.cpu_share, ++samples_);
  if (const auto busy = busiest(sample))
    phase.gpu_utilisation = mean(phase.gpu_utilisation.value_or(0), *busy, ++gpu_samples_);
}

}  // namespace plimsoll::monitor
