// Tables of one step under several settings: limits of scratch memory, numbers of GPUs.
#pragma once

#include <span>
#include <string>

#include "estimator/plan/scaling.h"
#include "estimator/plan/workspace_knees.h"
#include "estimator/report/page.h"

namespace plimsoll {

std::string to_text(std::span<const WorkspaceKnee> knees, const Page& page);
std::string to_json(std::span<const WorkspaceKnee> knees);

std::string to_text(std::span<const ScalingPoint> points, const Page& page);
std::string to_json(std::span<const ScalingPoint> points);

}  // namespace plimsoll
