// The estimate as JSON, in the form that contract and schema fix: key order is stable, bytes and
// nanoseconds are whole numbers.
#pragma once

#include <string>

#include "estimator/answer/estimate.h"
#include "graph/json/writer.h"

namespace plimsoll {

std::string to_json(const Estimate& estimate,
                    JsonWriter::Layout layout = JsonWriter::Layout::kIndented);
// [low, high], as every range is written.
void write_range(JsonWriter& out, const Range& range);
// One diagnostic a line, for --error-format=json.
std::string to_json(const Diagnostic& diagnostic);

}  // namespace plimsoll
