// sweep(): a grid of recipes, devices and sizes. Every point has the verdict of estimate(); what
// points share is compiled, bound and priced once: thousands of points a second.
//
//   const std::vector<SizeAxis> sizes = {{"batch", {32, 64, 128}}};
//   sweep(variants, sizes, hwdb, {}, [&](const SweepPoint& p) { ...; return true; });
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "estimator/app/sweep/size_axis.h"
#include "estimator/app/sweep/sweep_point.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

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
