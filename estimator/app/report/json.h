// The estimate as JSON, in the form that contract and schema fix: key order is stable, bytes and
// nanoseconds are whole numbers.
#pragma once

#include <optional>
#include <string>

#include "estimator/answer/estimate.h"
#include "estimator/app/report/diagnostic_json.h"
#include "estimator/app/search/largest_batch.h"
#include "graph/json/fields.h"
#include "graph/json/writer.h"

namespace plimsoll {

struct JsonOptions {
  JsonWriter::Layout layout = JsonWriter::Layout::kIndented;
  // What only pages ask for, left out where it is not given.
  const LargestBatch* batches = nullptr;
  std::optional<bool> unbeaten{};            // among the estimates that it is compared with
  std::optional<double> price_of_million{};  // samples, where an hour has a price
  // Long lists that a page may have no room for: `kept` is left out first, then `layers` is empty.
  enum class Lists : uint8_t { kAll, kNotKept, kNeither } lists = Lists::kAll;
};
std::string to_json(const Estimate& estimate, const JsonOptions& options = {});
void describe(Fields& f, Estimate& estimate, const JsonOptions& options);

}  // namespace plimsoll
