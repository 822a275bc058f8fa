#include "monitor/band.h"

#include <array>

namespace plimsoll::monitor {

std::string_view name(BandPlace place) {
  constexpr std::array<std::string_view, 3> kNames = {"within", "above", "below"};
  return kNames[static_cast<size_t>(place)];
}

BandPlace place_in(const Predicted& predicted, int64_t bytes) {
  if (bytes > predicted.range.high) return BandPlace::kAbove;
  return bytes < predicted.range.low ? BandPlace::kBelow : BandPlace::kWithin;
}

Band band_of(const Estimate& estimate) {
  const MemoryEstimate& m = estimate.memory;
  Band band{.device = Predicted{m.device_bytes, m.device_range},
            .host = {},
            .device_id = estimate.device_id,
            .step_ns = estimate.time.step_ns};
  if (m.host_bytes > 0 && m.host_asked) band.host = Predicted{m.host_bytes, m.host_range};
  return band;
}

std::vector<BandWatch::Crossing> BandWatch::take(const Sample& sample) {
  std::vector<Crossing> crossings;
  check(band_.device, sample.device_bytes(), true, device_above_, crossings);
  check(band_.host, sample.host.resident, false, host_above_, crossings);
  return crossings;
}

void BandWatch::check(const std::optional<Predicted>& predicted, std::optional<int64_t> bytes,
                      bool of_device, bool& above, std::vector<Crossing>& crossings) {
  if (!predicted || !bytes) return;
  const bool now = place_in(*predicted, *bytes) == BandPlace::kAbove;
  if (now == above) return;
  above = now;
  was_left_ = was_left_ || now;
  crossings.push_back({of_device, now ? BandPlace::kAbove : BandPlace::kWithin, *bytes});
}

}  // namespace plimsoll::monitor
