// The plans of a cluster as text, a table and JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "estimator/app/report/page.h"
#include "estimator/app/report/table.h"
#include "estimator/app/search/plan_advice.h"

namespace plimsoll {

// Of a run: of days, where it takes more than two.
std::string run_time(int64_t ns);

Table plan_table(std::span<const PricedPlan> plans);

// `quiet`: the first line alone; `basis`: where figures come from too.
std::string to_text(const PlanAdvice& advice, const Page& page = {}, bool quiet = false,
                    bool basis = false);
std::string to_json(const PlanAdvice& advice);

}  // namespace plimsoll
