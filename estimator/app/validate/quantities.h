// The quantities of measured runs that an estimate answers, each in the record's own unit.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/answer/estimate.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

// What validate() keeps of an estimate: the rest is of no use there.
struct Answer {
  MemoryEstimate memory;
  TimeEstimate time;
  bool fits = false;
  int64_t output_bytes = 0;  // what the program keeps of a step's results until the next
};

struct MeasuredQuantity {
  std::string name;
  double measured = 0;
  // Nothing where the estimate does not hold it; then `missing` says why.
  std::function<std::optional<double>(const Answer&)> predict;
  std::function<std::optional<std::pair<double, double>>(const Answer&)> range;
  std::string missing;
  bool of_card = true;   // else the GPU plays no part, and the record need not name one
  bool of_mean = false;  // of all steps in the mean, not of the longest
};

// All that was measured in a run of a whole model, in the file's order; a run that ended out of
// memory measured that it does not fit. Empty: the run holds a fact of another kind, or none.
std::vector<MeasuredQuantity> quantities_of(const MeasuredRun& run);

// The unit that a quantity's figures are written in: "ms", "MiB", "B", "%"; empty where there is
// none, or none is known.
std::string unit_word(const MeasuredRun& run, std::string_view quantity);

// Why a fact such as "specification" is not predicted.
std::string no_prediction(const MeasuredRun& run);

}  // namespace plimsoll
