// tolerance: what a gate asks of predictions held against measured runs, and how they do.
//
//   Tolerances asked = {{"memory", {.relative = 0.10}}};
//   Gate gate = judge(validation.lines, asked, false);
//   gate.passed; gate.compared; gate.outside;
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/plan/validate.h"

namespace plimsoll {

// By how much a prediction may miss: a share of what was measured, or bytes, or seconds.
struct Tolerance {
  std::optional<double> relative{}, bytes{}, seconds{};
};
using Tolerances = std::map<std::string, Tolerance, std::less<>>;  // by class

// Classes of quantities: "memory" and "workspace" are of bytes, "time" of seconds, "share" of
// percents, utilisations and ratios, "fits" of what fits and the largest batch that does.
const std::vector<std::string>& tolerance_classes();
std::string_view tolerance_class(std::string_view quantity);

enum class LineState : uint8_t {
  kSkipped,
  kPredicted,  // no tolerance asks for its class
  kInside,
  kOutside,
};

// A prediction without an error is not compared; "fits" is inside where its verdict holds what was
// measured. Without any tolerance all that is predicted is compared, and nothing is outside.
LineState state_of(const ValidationLine& line, const Tolerances& tolerances);

// W510 where all errors of memory are what megabytes taken for mebibytes give, or the other way.
Diagnostics doubted_units(const std::vector<ValidationLine>& lines);

struct Gate {
  bool passed = false;
  int64_t compared = 0, outside = 0, skipped = 0;
};

// Passes where something was compared for each tolerance, nothing is outside, and nothing was
// skipped unless `allow_skipped`.
Gate judge(const std::vector<ValidationLine>& lines, const Tolerances& tolerances,
           bool allow_skipped);

}  // namespace plimsoll
