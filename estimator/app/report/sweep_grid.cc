#include "estimator/app/report/sweep_grid.h"

#include <algorithm>

#include "estimator/settings/json_texts.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

constexpr size_t kMostAxes = 5, kMostValues = 30, kLongestValue = 40;

SweepGrid::Axis axis_of(const SweepParameter& parameter, size_t every) {
  SweepGrid::Axis axis{.name = shortened(parameter.name, kLongestValue), .values = {}};
  for (size_t i = 0; i < parameter.values.size(); i += every)
    axis.values.push_back(shortened(text_of(parameter.values[i]), kLongestValue));
  return axis;
}

void add_point(const SweepPoint& point, SweepCell& cell) {
  if (point.failure) {
    ++cell.failed;
    return;
  }
  const bool first = cell.by_verdict == std::array<int64_t, 3>{};
  ++cell.by_verdict[static_cast<size_t>(point.verdict)];
  cell.least_bytes = first ? point.device_bytes : std::min(cell.least_bytes, point.device_bytes);
  cell.most_bytes = std::max(cell.most_bytes, point.device_bytes);
}

}  // namespace

void describe(Fields& f, SweepGrid& grid) {
  f.list("axes", grid.axes, [&](SweepGrid::Axis& axis) {
    f("name", axis.name);
    f("values", axis.values);
  });
  std::vector<std::pair<std::pair<size_t, size_t>, SweepCell>> cells(grid.cells.begin(),
                                                                     grid.cells.end());
  f.list("cells", cells, [&](std::pair<std::pair<size_t, size_t>, SweepCell>& entry) {
    auto& [place, cell] = entry;
    f("first", static_cast<int64_t>(place.first), "of the values of the first axis, from 0");
    f("second", static_cast<int64_t>(place.second));
    f("fits", cell.by_verdict[static_cast<size_t>(Verdict::kFits)], "configurations by verdict");
    f("may_fit", cell.by_verdict[static_cast<size_t>(Verdict::kMayFit)]);
    f("does_not_fit", cell.by_verdict[static_cast<size_t>(Verdict::kDoesNotFit)]);
    f("failed", cell.failed);
    f("least_bytes", cell.least_bytes, "device memory of those that have an answer");
    f("most_bytes", cell.most_bytes);
  });
}

SweepGrids::SweepGrids(const SweepPlan& plan) {
  std::vector<Shown> shown;
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const size_t values = plan.parameters[i].values.size();
    if (values >= 2) shown.push_back({i, (values + kMostValues - 1) / kMostValues});
  }
  std::stable_partition(shown.begin(), shown.end(),
                        [&](const Shown& s) { return plan.parameters[s.parameter].name == "gpu"; });
  if (shown.size() > kMostAxes) shown.resize(kMostAxes);
  for (size_t i = 0; i < shown.size(); ++i) {
    for (size_t j = i + 1; j < shown.size(); ++j) {
      pairs_.push_back({shown[i], shown[j]});
      grids_.push_back({.axes = {axis_of(plan.parameters[shown[i].parameter], shown[i].every),
                                 axis_of(plan.parameters[shown[j].parameter], shown[j].every)},
                        .cells = {}});
    }
  }
}

void SweepGrids::add(const std::vector<size_t>& values, const SweepPoint& point) {
  for (size_t i = 0; i < pairs_.size(); ++i) {
    const auto& [first, second] = pairs_[i];
    const size_t x = values[first.parameter];
    const size_t y = values[second.parameter];
    if (x % first.every != 0 || y % second.every != 0) continue;
    add_point(point, grids_[i].cells[{x / first.every, y / second.every}]);
  }
}

}  // namespace plimsoll
