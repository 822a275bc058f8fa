// --threads and --progress, of verbs whose work is long.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "estimator/app/cli/flag_set.h"
#include "estimator/app/cli/progress.h"
#include "graph/base/diagnostic.h"

namespace plimsoll::cli {

struct WorkFlags {
  std::string threads;  // empty: as many as CPUs
  std::string progress = "auto";
};

// Declares them. `flags` must outlive the parse.
void add_work(const FlagSet& app, WorkFlags& flags);

// E103 for a number of threads that is none, E106 for a --progress nobody knows.
Result<void> check_work(const WorkFlags& flags);

size_t threads_of(const WorkFlags& flags);
// Nothing where check_work() says why.
std::optional<Progress::When> progress_when(const WorkFlags& flags);

}  // namespace plimsoll::cli
