// --emit FORM --emit-to DIR: files that run what a sweep found to fit.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "estimator/app/cli/flag_set.h"
#include "estimator/app/report/sweep.h"
#include "estimator/app/sweep/sweep_plan.h"
#include "graph/base/diagnostic.h"
#include "graph/base/distinct_files.h"

namespace plimsoll::cli {

struct EmitFlags {
  std::vector<std::string> forms;  // "slurm", "csv", "plan"
  std::string directory;
};

// Declares them. `flags` must outlive the parse.
void add_emit(const FlagSet& app, EmitFlags& flags);

// E106 for a form that nobody knows, E114 for one of both flags alone.
Result<void> check_emit(const EmitFlags& flags);

// Keeps the configurations whose whole range fits, and writes them.
class Emitter {
 public:
  // `plan` and `flags` outlive this. `from`: the plan's file; `gpus`: of a run, where the plan does
  // not say it; `force`: files that are there are overwritten.
  Emitter(const SweepPlan& plan, const EmitFlags& flags, std::string from, int64_t gpus, bool force)
      : plan_(plan), flags_(flags), from_(std::move(from)), gpus_(gpus), force_(force) {}

  // Files that none of these may be: E114 of write().
  void keep_off(std::vector<NamedFile> files) { others_ = std::move(files); }
  // Makes the folder, before the work. E612.
  Result<void> open() const;
  void add(const SweptConfiguration& configuration, const SweepPoint& point);
  // A line for each file: "wrote jobs/run-24GiB.sbatch: 42 tasks". E610, E612, E325.
  Result<std::string> write(bool time) const;

 private:
  std::string moved(const std::string& model) const;

  const SweepPlan& plan_;
  const EmitFlags& flags_;
  std::string from_;
  int64_t gpus_;
  bool force_;
  std::vector<SweepCandidate> fit_;
  std::vector<NamedFile> others_;
};

}  // namespace plimsoll::cli
