#include "monitor/moments.h"

#include <algorithm>

namespace plimsoll::monitor {
namespace {

constexpr size_t kHostFigures = 6, kDeviceFigures = 4;

template <class T, class Pick>
void merge(std::optional<T>& into, const std::optional<T>& next, Pick pick) {
  if (next) into = into ? pick(*into, *next) : *next;
}

constexpr auto kMost = [](auto a, auto b) { return std::max(a, b); };
constexpr auto kLeast = [](auto a, auto b) { return std::min(a, b); };

double mean_of(double a, int64_t of_a, double b, int64_t of_b) {
  return a + (b - a) * static_cast<double>(of_b) / static_cast<double>(of_a + of_b);
}

void merge(DeviceMoment& into, const DeviceMoment& next) {
  merge(into.bytes, next.bytes, kMost);
  merge(into.power_watts, next.power_watts, kMost);
  merge(into.sm_clock_hz, next.sm_clock_hz, kLeast);
  if (!next.utilisation) return;
  into.utilisation = mean_of(into.utilisation.value_or(0), into.utilisations, *next.utilisation,
                             next.utilisations);
  into.utilisations += next.utilisations;
}

void merge(Moment& into, const Moment& next) {
  into.host = std::max(into.host, next.host);
  into.swap = std::max(into.swap, next.swap);
  merge(into.pss, next.pss, kMost);
  into.cpu_share = mean_of(into.cpu_share, into.samples, next.cpu_share, next.samples);
  into.samples += next.samples;
  into.devices.resize(std::max(into.devices.size(), next.devices.size()));
  for (size_t i = 0; i < next.devices.size(); ++i) merge(into.devices[i], next.devices[i]);
}

Moment moment_of(const Sample& sample, bool with_bytes) {
  Moment moment{.seconds = sample.seconds,
                .samples = 1,
                .host = sample.host.resident_high,
                .pss = sample.host.pss,
                .swap = sample.host.swap,
                .cpu_share = sample.cpu_share};
  for (const DeviceReading& device : sample.devices) {
    const GpuReading& gpu = device.gpu;
    moment.devices.push_back({.bytes = with_bytes ? device.bytes : std::nullopt,
                              .utilisation = gpu.utilisation,
                              .utilisations = gpu.utilisation ? 1 : 0,
                              .power_watts = gpu.power_watts,
                              .sm_clock_hz = gpu.sm_clock_hz});
  }
  return moment;
}

}  // namespace

void Moments::take(const Sample& sample) {
  // As the summary has it: once only the whole card is told, that is what all figures are of.
  if (sample.basis == DeviceBasis::kCard && basis_ == DeviceBasis::kProcess) {
    for (Moment& moment : moments_) {
      for (DeviceMoment& device : moment.devices) device.bytes.reset();
    }
  }
  basis_ = std::max(basis_, sample.basis);
  const Moment next = moment_of(sample, sample.basis == basis_);
  if (!moments_.empty() && moments_.back().samples < samples_each_) {
    merge(moments_.back(), next);
  } else {
    moments_.push_back(next);
  }
  const size_t each = kHostFigures + kDeviceFigures * moments_.back().devices.size();
  if (moments_.size() > 2 && moments_.size() * each > figures_) halve();
}

void Moments::halve() {
  size_t kept = 0;
  for (size_t i = 0; i < moments_.size(); i += 2, ++kept) {
    if (kept != i) moments_[kept] = std::move(moments_[i]);
    if (i + 1 < moments_.size()) merge(moments_[kept], moments_[i + 1]);
  }
  moments_.resize(kept);
  samples_each_ *= 2;
}

}  // namespace plimsoll::monitor
