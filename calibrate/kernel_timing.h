// kernel_timing: one kernel on a card: every way that is offered to run it, how long each takes,
// and which of them a framework takes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/card.h"

namespace plimsoll::calibrate {

struct TimedOffer {
  Offer offer;
  double seconds = 0, low = 0, high = 0;  // median, least and most; 0 where it failed
  CardState state{};                      // at the median of the clocks
  bool clock_moved = false;               // by more than 3 % however often it was repeated
  std::string failed{};                   // why it has no time
  bool operator==(const TimedOffer&) const = default;
};

inline void describe(Fields& f, TimedOffer& timed) {
  describe(f, timed.offer);
  f.either(
      "failed", !timed.failed.empty(), [&] { f("failed", timed.failed); },
      [&] {
        f.scaled("ns", timed.seconds, kNanoseconds, {.low = 0});
        f.scaled("low_ns", timed.low, kNanoseconds, {.low = 0});
        f.scaled("high_ns", timed.high, kNanoseconds, {.low = 0});
        describe(f, timed.state);
        f("clock_moved", timed.clock_moved, {.absent_where = !timed.clock_moved});
      });
}

struct KernelTiming {
  std::vector<TimedOffer> offers;  // in the library's order
  std::optional<size_t> taken;     // by the framework; nothing where there is no time
  std::string skipped;             // why there is none
  bool operator==(const KernelTiming&) const = default;
};

struct TimingRules {
  bool benchmark = false;  // the fastest is taken, not the first
  int64_t workspace_limit = std::numeric_limits<int64_t>::max();  // of what may be taken
  int64_t memory = std::numeric_limits<int64_t>::max();     // bytes for operands and workspace
  size_t most_offers = std::numeric_limits<size_t>::max();  // that are timed
};

// What only some kernels meet is in the timing; an error ends the run. A framework never takes what
// rounds operands, nor tensor cores where the recipe does not allow them; of what fails it takes
// the next.
Result<KernelTiming> time_kernel(Card& card, const KernelAt& kernel, const TimingRules& rules);

// Whether an error is of one kernel alone: the codes of card.h.
bool is_of_kernel(const Diagnostics& fault);

}  // namespace plimsoll::calibrate
