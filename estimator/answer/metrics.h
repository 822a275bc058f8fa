// Metrics of a training step by their published definitions: those of Zhu et al., TBD (IISWC 2018),
// sections III and IV. What is not known has no value and says why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/answer/estimate.h"

namespace plimsoll {

struct Metric {
  std::string_view id;  // "fp32_utilisation"
  std::string_view name;
  std::string unit;  // "images/s", "of 1", "B", "B/s"
  std::string_view definition;
  std::optional<double> value;
  std::string unknown;  // why there is no value
};

// Of TBD's memory profiles. Bytes on one GPU, in granules of the framework's allocator.
struct MemoryCategory {
  std::string_view id, name, definition;
  int64_t bytes = 0;          // at the step's peak
  int64_t maximum_bytes = 0;  // the category's own, whenever that is
  double share = 0;           // of the sum of all maxima
};

struct Metrics {
  std::vector<Metric> rates;
  std::vector<MemoryCategory> memory;
};

Metrics metrics_of(const Estimate& estimate);

}  // namespace plimsoll
