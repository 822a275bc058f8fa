// Advice as a page: changes against the card's memory, or plans of a cluster in memory and time.
#pragma once

#include <string>

#include "estimator/app/search/advice.h"
#include "estimator/app/search/plan_advice.h"

namespace plimsoll {

// `model` and `command` are named.
std::string advise_page(const Advice& advice, const std::string& model, const std::string& command);
std::string advise_page(const PlanAdvice& advice, const std::string& model,
                        const std::string& command);

}  // namespace plimsoll
