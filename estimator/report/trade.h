// Tables of one step under several settings: limits of scratch memory, numbers of GPUs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "estimator/plan/scaling.h"
#include "estimator/plan/workspace_knees.h"
#include "estimator/report/page.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct WorkspaceTrade {
  std::vector<WorkspaceKnee> limits;
};
inline void describe(Fields& f, WorkspaceTrade& t) { f("knees", t.limits, {.least = 1}); }

struct ScalingTrade {
  std::vector<ScalingPoint> points;
};
inline void describe(Fields& f, ScalingTrade& t) { f("points", t.points, {.least = 1}); }

std::string to_text(std::span<const WorkspaceKnee> knees, const Page& page);
std::string to_json(std::span<const WorkspaceKnee> knees);

std::string to_text(std::span<const ScalingPoint> points, const Page& page);
std::string to_json(std::span<const ScalingPoint> points);

}  // namespace plimsoll
