// Which variants of a sweep are worked on together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "estimator/request/request.h"

namespace plimsoll {

// So many variants at once: a bound on memory.
inline constexpr size_t kMostVariants = 64;

// What requests share whose models share the names and the work of their kernels.
Request family_of(Request request);

// Variants that differ in their recipes alone, the first being the `index`-th of the sweep.
struct SweepGroup {
  size_t index;
  std::span<const Request> variants;
};
std::vector<SweepGroup> groups_of(std::span<const Request> variants);

// Groups of one family, which follow each other: their devices share models and replays.
using SweepBundle = std::span<const SweepGroup>;
// `groups` outlives the bundles.
std::vector<SweepBundle> bundles_of(const std::vector<SweepGroup>& groups);

}  // namespace plimsoll
