// sweep(): a grid of recipes, devices and sizes. Every point has the verdict of estimate(); what
// points share is compiled, bound and priced once: thousands of points a second.
//
//   const std::vector<SizeAxis> sizes = {{"batch", {32, 64, 128}}};
//   sweep(variants, sizes, hwdb, {}, [&](const SweepPoint& p) { ...; return true; });
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/answer/estimate.h"
#include "estimator/app/sweep/size_axis.h"
#include "estimator/request/request.h"
#include "graph/json/fields.h"
#include "hwdb/hwdb.h"

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

struct SweepOptions {
  bool time = true;
  // Of the models that each thread keeps at once: some 300 bytes each, with all that belongs to
  // them.
  size_t most_events = 400'000;
  size_t threads = 1;
  // The `part`-th of `parts` (from 0), which have all points once, in the order of the whole.
  size_t part = 0, parts = 1;
  // The answer to a point of a variant that is known already, from an earlier sweep; asked on any
  // thread.
  std::function<std::optional<SweepPoint>(size_t variant, int64_t point)> known{};
};

// `variants`: each asks for one device. Those that differ in their recipe alone, and not in its
// precision, should follow each other: they share the prices of their kernels; others that differ
// in their device share what is compiled. `use` is called on the calling thread: it gets all sizes
// of a variant, in blocks, and all variants, in an order that no number of threads changes, and
// says whether to go on.
// Returns the warnings about models and cards, each once. What a model says of one point (exit
// status 3) is that point's failure, and so is a plan that the GPUs or the model do not allow
// (E120); every other error ends the sweep. Of a pipeline the answer is the memory of the stage
// that needs most and the time of the slowest. Cost: to compile a variant, or each of up to four
// stages, some 3 ms (ResNet-50); a point, some 0.2 ms to replay the allocator and 0.01 ms to price
// its kernels.
Result<Diagnostics> sweep(std::span<const Request> variants, std::span<const SizeAxis> sizes,
                          const Hwdb& hwdb, const SweepOptions& options,
                          const std::function<bool(const SweepPoint&)>& use);

}  // namespace plimsoll
