// tolerance: what a gate asks of predictions held against measured runs, and how they do.
//
//   Tolerances asked = {{"memory", {.relative = 0.10}}};
//   Judge judge(asked);
//   for (const ValidationLine& line : lines) judge.add(line);
//   judge.gate().passed; judge.gate().compared;
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/app/validate/validate.h"
#include "graph/json/fields.h"

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

struct Gate {
  bool passed = false;
  int64_t compared = 0, outside = 0, skipped = 0;
};

inline void describe(Fields& f, Gate& gate) {
  f("passed", gate.passed);
  f("compared", gate.compared);
  f("out_of_tolerance", gate.outside);
  f("skipped", gate.skipped);
}

// Holds lines against tolerances as they come, and keeps none.
class Judge {
 public:
  explicit Judge(Tolerances tolerances, bool allow_skipped = false);
  LineState add(const ValidationLine& line);
  const Tolerances& tolerances() const { return tolerances_; }
  // Passes where something was compared for each tolerance, nothing is outside, and nothing was
  // skipped unless `allow_skipped`.
  Gate gate() const;
  // W510 where all errors of memory are what megabytes taken for mebibytes give, or the other way.
  Diagnostics doubted_units() const;

 private:
  Tolerances tolerances_;
  bool allow_skipped_;
  Gate gate_;
  std::set<std::string_view> answered_;  // classes
  int64_t of_memory_ = 0, decimal_ = 0, binary_ = 0;
};

}  // namespace plimsoll
