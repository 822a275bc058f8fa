// How many of a sweep's configurations fit, by the values of any two of its parameters.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "estimator/app/report/sweep_record.h"
#include "estimator/app/sweep/sweep.h"
#include "estimator/app/sweep/sweep_plan.h"
#include "graph/json/fields.h"

namespace plimsoll {

// Configurations that have the same two values.
struct SweepCell {
  std::array<int64_t, 3> by_verdict{};
  int64_t failed = 0;
  int64_t least_bytes = 0, most_bytes = 0;  // of those that have an answer
};

struct SweepGrid {
  struct Axis {
    std::string name;
    std::vector<std::string> values;
  };
  std::vector<Axis> axes;                                // two
  std::map<std::pair<size_t, size_t>, SweepCell> cells;  // by places on the axes
};
void describe(Fields& f, SweepGrid& grid);

// Grids of at most ten pairs of parameters: of the first five that have several values, their GPU
// first. An axis has at most 30 values; of more, each second, third, ... is shown.
class SweepGrids {
 public:
  explicit SweepGrids(const SweepPlan& plan);
  // `values`: which one each parameter has.
  void add(const std::vector<size_t>& values, const SweepPoint& point);
  const std::vector<SweepGrid>& all() const { return grids_; }

 private:
  struct Shown {
    size_t parameter;
    size_t every;
  };
  std::vector<std::array<Shown, 2>> pairs_;  // of each grid
  std::vector<SweepGrid> grids_;
};

}  // namespace plimsoll
