// A part of a plan's configurations, written as plans of the form that the plan came in.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "estimator/app/sweep/sweep_plan.h"

namespace plimsoll {

// For each parameter which of its values: all of their combinations. None where a parameter has
// none.
using PlanGrid = std::vector<std::vector<size_t>>;

// Grids that have each of these configurations (as SweepPlan::values_of() gives them) once and no
// other. Few, but not always as few as can be: values are put together from the last parameter on.
std::vector<PlanGrid> grids_of(std::vector<std::vector<size_t>> configurations);

// The plan with these values alone, all of them asked for: the file's other keys stay, but for
// those that choose among configurations. `model_path`: what a model's file is called where the new
// plan lies. A plan that draws from distributions still does. YAML's comments are lost.
std::string write_plan(const SweepPlan& plan, const PlanGrid& grid,
                       const std::function<std::string(const std::string&)>& model_path);

}  // namespace plimsoll
