// What runs a part of a sweep: files for Slurm, for a spreadsheet, and for the tool that the plan
// is of.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "estimator/app/report/sweep.h"
#include "estimator/app/sweep/sweep_plan.h"
#include "graph/base/diagnostic.h"

namespace plimsoll {

struct SweepFile {
  std::string name, text;
  std::string holds;  // "42 tasks"
};

// Array jobs for Slurm, each of runs that need one kind and number of GPUs and memory of one class
// (4, 6, 8, 12, 16, 24, ... GiB, the least that holds the high end of the range), in arrays as long
// as Slurm takes them. A task runs the program that `sbatch FILE PROGRAM...` names, with its
// parameters as --name=value behind. `gpus`: of a run, where the plan does not say it.
// E325 for a name or value with a line break or a tab.
Result<std::vector<SweepFile>> slurm_files(const SweepPlan& plan,
                                           std::span<const SweepCandidate> runs, int64_t gpus);

// One table, a row each; without times where the sweep had none.
SweepFile csv_file(const SweepPlan& plan, std::span<const SweepCandidate> runs, bool time);

// The plan with these configurations alone, as one file, or as many as it takes: a plan is a grid.
// `model_path`: what a model's file is called there.
std::vector<SweepFile> plan_files(const SweepPlan& plan, std::span<const SweepCandidate> runs,
                                  const std::function<std::string(const std::string&)>& model_path);

}  // namespace plimsoll
