#include "calibrate/kernel_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibrate/kernel_record.h"
#include "estimator/app/report/text.h"

namespace plimsoll::calibrate {
namespace {

constexpr double kClockMoves = 1.03;
constexpr int kTries = 3;

// By how much the clock of the multiprocessors moved, as a ratio; 1 where it is not told.
double clock_ratio(const std::vector<Sample>& samples) {
  double low = 0, high = 0;
  for (const Sample& s : samples) {
    const double clock = s.state.sm_clock_hz.value_or(0);
    if (clock <= 0) continue;
    low = low == 0 ? clock : std::min(low, clock);
    high = std::max(high, clock);
  }
  return low > 0 ? high / low : 1;
}

CardState middle_state(std::vector<Sample> samples) {
  const auto middle = samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle, {},
                           [](const Sample& s) { return s.state.sm_clock_hz.value_or(0); });
  return middle->state;
}

void sum_up(std::vector<Sample> samples, TimedOffer& timed) {
  timed.clock_moved = clock_ratio(samples) > kClockMoves;
  timed.state = middle_state(samples);
  std::ranges::sort(samples, {}, &Sample::seconds);
  const size_t n = samples.size();
  timed.seconds = (samples[(n - 1) / 2].seconds + samples[n / 2].seconds) / 2;
  timed.low = samples.front().seconds;
  timed.high = samples.back().seconds;
}

// Again where the clock moved: the tries that it moved least in.
Result<std::vector<Sample>> steady_samples(Card& card, const KernelAt& kernel, size_t offer) {
  std::vector<Sample> best;
  for (int i = 0; i < kTries; ++i) {
    auto samples = card.time(kernel, offer);
    if (!samples) return samples;
    if (samples->empty()) return error("E722", "no sample");
    if (best.empty() || clock_ratio(*samples) < clock_ratio(best)) best = std::move(*samples);
    if (clock_ratio(best) <= kClockMoves) break;
  }
  return best;
}

bool may_take(const Offer& offer, const KernelAt& kernel, const TimingRules& rules) {
  if (offer.workspace_bytes.value_or(0) > rules.workspace_limit) return false;
  if (!offer.plan) return true;
  return !offer.plan->has("down_convert_inputs") &&
         (kernel.tensor_core || !offer.plan->has("tensor_core"));
}

void take(const KernelAt& kernel, const TimingRules& rules, KernelTiming& timing) {
  for (size_t i = 0; i < timing.offers.size(); ++i) {
    const TimedOffer& offer = timing.offers[i];
    if (offer.seconds <= 0 || !may_take(offer.offer, kernel, rules)) continue;
    if (!timing.taken || offer.seconds < timing.offers[*timing.taken].seconds) timing.taken = i;
    if (!rules.benchmark) return;
  }
  if (timing.taken) return;
  for (const TimedOffer& offer : timing.offers) {
    if (offer.failed.empty()) continue;
    timing.skipped = offer.failed;
    return;
  }
  timing.skipped = "the framework may use none of the library's plans";
}

}  // namespace

bool is_of_kernel(const Diagnostics& fault) {
  static constexpr std::array<std::string_view, 5> kCodes = {"E721", "E722", "E723", "E724",
                                                             "E725"};
  return !fault.empty() && std::ranges::find(kCodes, fault.front().code) != kCodes.end();
}

Result<KernelTiming> time_kernel(Card& card, const KernelAt& kernel, const TimingRules& rules) {
  KernelTiming timing;
  if (!is_told(kernel)) {
    timing.skipped = "a record cannot tell all of it";
    return timing;
  }
  const auto offers = card.offers(kernel);
  if (!offers) {
    if (!is_of_kernel(offers.error())) return tl::make_unexpected(offers.error());
    timing.skipped = offers.error().front().message;
    return timing;
  }
  for (size_t i = 0; i < offers->size() && i < rules.most_offers; ++i) {
    TimedOffer& timed = timing.offers.emplace_back(TimedOffer{.offer = (*offers)[i]});
    const int64_t need = kernel.read + kernel.written + timed.offer.workspace_bytes.value_or(0);
    if (need > rules.memory) {
      timed.failed =
          fmt::format("it needs {}, of {}", human_bytes(need), human_bytes(rules.memory));
      continue;
    }
    auto samples = steady_samples(card, kernel, i);
    if (samples) {
      sum_up(std::move(*samples), timed);
    } else if (is_of_kernel(samples.error())) {
      timed.failed = samples.error().front().message;
    } else {
      return tl::make_unexpected(samples.error());
    }
  }
  take(kernel, rules, timing);
  return timing;
}

}  // namespace plimsoll::calibrate
