// Tables of one step under several settings: limits of scratch memory, numbers of GPUs.
#pragma once

#include <string>

#include "estimator/app/explain/scaling.h"
#include "estimator/app/explain/workspace_knees.h"
#include "estimator/app/report/page.h"
#include "estimator/app/report/table.h"

namespace plimsoll {

Table to_table(const WorkspaceTrade& trade);
std::string to_text(const WorkspaceTrade& trade, const Page& page);
std::string to_json(const WorkspaceTrade& trade);

Table to_table(const ScalingTrade& trade);
std::string to_text(const ScalingTrade& trade, const Page& page);
std::string to_json(const ScalingTrade& trade);

}  // namespace plimsoll
