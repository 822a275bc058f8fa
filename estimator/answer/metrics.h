// Metrics of a training step by their published definitions: those of Zhu et al., TBD (IISWC 2018),
// sections III and IV. What is not known has no value and says why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/answer/estimate.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct Metric {
  std::string_view id;  // "fp32_utilisation"
  std::string_view name;
  std::string unit;  // "images/s", "of 1", "B", "B/s"
  std::string_view definition;
  std::optional<double> value;
  std::string unknown;
};

inline void describe(Fields& f, Metric& m) {
  f("value", m.value);
  f("unit", m.unit);
  f("definition", m.definition);
  f("unknown", m.unknown,
    {.meaning = "why there is no value", .absent_where = m.value.has_value(), .settings = true});
}

// Of TBD's memory profiles. Bytes on one GPU, in granules of the framework's allocator.
struct MemoryCategory {
  std::string_view id, name, definition;
  int64_t bytes = 0, maximum_bytes = 0;
  double share = 0;
};

inline void describe(Fields& f, MemoryCategory& c) {
  f("category", c.id);
  f("bytes", c.bytes, "at the step's peak");
  f("maximum_bytes", c.maximum_bytes, "the category's maximum over the step");
  f("share", c.share, {.meaning = "of the sum of all maxima", .low = 0, .high = 1});
  f("definition", c.definition);
}

struct Metrics {
  std::vector<Metric> rates;
  std::vector<MemoryCategory> memory;
};

inline void describe(Fields& f, Metrics& metrics) {
  for (Metric& m : metrics.rates) f(m.id, m);
  f("memory", metrics.memory);
}

Metrics metrics_of(const Estimate& estimate);

}  // namespace plimsoll
