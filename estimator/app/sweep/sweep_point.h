// SweepPoint: the answer to one configuration of a sweep.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "estimator/answer/estimate.h"
#include "estimator/pipeline.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct SweepPoint {
  size_t variant = 0;
  int64_t point = 0;  // of the grid of sizes
  std::string device_id;
  std::optional<Diagnostics> failure;  // what estimate() says there; then nothing below holds
  int64_t usable_bytes = 0;            // the device's memory less what is kept free
  int64_t device_bytes = 0;
  Range device_range_bytes;
  bool fits = false;  // the point, as estimate() says
  Verdict verdict = Verdict::kDoesNotFit;
  // Not of a sweep of memory alone.
  int64_t step_ns = 0;
  Range step_range_ns;
  double samples_per_second = 0;  // of all devices together
  std::string sample_unit;
  std::optional<int64_t> run_ns;  // once through the samples, or as often as epochs are set;
                                  // nothing: how many there are is not known
  bool host_bound = false;
  StageWaits waits;  // of a pipeline's stages, until their times are one
};

// Of a point that has an answer, without the device. `time`: what was asked for.
inline void describe(Fields& f, SweepPoint& p, bool time) {
  static constexpr std::array<std::string_view, 2> kTiers = {"bound", "replay"};
  f("tier", kTiers.back(), {.words = kTiers});
  f("fits", p.fits, "as in estimate");
  f("may_fit", p.verdict == Verdict::kMayFit, "the verdict is may_fit");
  f("verdict", p.verdict, "of the range, as in estimate");
  f("usable_bytes", p.usable_bytes);
  f("device_bytes", p.device_bytes);
  f("device_range_bytes", p.device_range_bytes);
  f("step_ns", p.step_ns, {.absent_where = !time});
  f("step_range_ns", p.step_range_ns, {.absent_where = !time});
  f("samples_per_second", p.samples_per_second, {.absent_where = !time, .low = 0});
  f("sample_unit", p.sample_unit, {.absent_where = !time});
  f("run_ns", p.run_ns,
    {.meaning = "one pass over the data, or through all epochs; absent where the number of samples "
                "is unknown",
     .absent_where = !time || !p.run_ns});
  f("host_bound", p.host_bound, {.absent_where = !time});
}

}  // namespace plimsoll
