// One configuration of a sweep as a line of JSON, written and read back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estimator/app/sweep/sweep.h"
#include "estimator/app/sweep/sweep_plan.h"
#include "graph/json/fields.h"
#include "graph/json/value.h"

namespace plimsoll {

// A configuration: which value each of the plan's parameters has, by parameter; of those without
// values none.
struct SweptConfiguration {
  int64_t number = 0;  // in the plan's order, the last parameter changing fastest
  std::vector<size_t> values;
};

// The object on a line, without a newline. `time`: what was asked for.
std::string to_json_line(const SweepPlan& plan, const SweptConfiguration& configuration,
                         const SweepPoint& point, bool time);

struct SweepRecord {
  int64_t number = 0;  // of the configuration
  SweepPoint point;    // without its variant and its place in the grid of sizes
  std::vector<std::pair<std::string, JsonValue>> parameters{};
};
void describe(Fields& f, SweepRecord& record, bool time);
SweepRecord record_of(const SweepPlan& plan, const SweptConfiguration& configuration,
                      const SweepPoint& point);
// What the plan's parameter of this name is there; null where it has no values.
const JsonValue* value_of(const SweepPlan& plan, const std::vector<size_t>& values,
                          std::string_view parameter);
// Nothing where the line is none of to_json_line()'s.
std::optional<SweepRecord> read_sweep_record(std::string_view line);

}  // namespace plimsoll
