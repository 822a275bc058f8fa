// One configuration of a sweep as a line of JSON, written and read back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/plan/sweep.h"
#include "estimator/plan/sweep_plan.h"
#include "graph/json/writer.h"

namespace plimsoll {

// A configuration: which value each of the plan's parameters has, by parameter; of those without
// values none.
struct SweptConfiguration {
  int64_t number = 0;  // in the plan's order, the last parameter changing fastest
  std::vector<size_t> values;
};

// The members of its object.
void write_sweep_record(JsonWriter& out, const SweepPlan& plan,
                        const SweptConfiguration& configuration, const SweepPoint& point,
                        bool time);
// The object on a line, without a newline. `time`: what was asked for.
std::string to_json_line(const SweepPlan& plan, const SweptConfiguration& configuration,
                         const SweepPoint& point, bool time);

struct SweepRecord {
  int64_t number = 0;  // of the configuration
  SweepPoint point;    // without its variant and its place in the grid of sizes
};

// Nothing where the line is none of to_json_line()'s.
std::optional<SweepRecord> read_sweep_record(std::string_view line);

}  // namespace plimsoll
