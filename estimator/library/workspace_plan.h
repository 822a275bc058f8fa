// WorkspacePlan: the scratch memory that each kernel of a step takes on a platform.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/kernels/time_context.h"
#include "estimator/library/conv_choice.h"
#include "estimator/library/workspace_use.h"
#include "estimator/step/bound_step.h"
#include "hwdb/device.h"

namespace plimsoll {

struct WorkspacePlan {
  std::vector<WorkspaceUse> uses;  // by KernelId; zero where a kernel needs none
  std::vector<std::string>
      bases;  // by KernelId: "asked", "table", "rule", "interval"; empty for no need
  std::vector<std::string> algorithms;  // by KernelId, as the library calls them
  std::string basis;  // the least trusted: "asked", "table", "rule", "interval"; else "none"
  int64_t asked = 0, convolutions = 0;  // kernels, and of how many cuDNN was asked
  AlgorithmPolicy algorithm_policy = AlgorithmPolicy::kAutotune;  // by which they were chosen
  bool gives_way = false;                                         // LibraryBehaviour::gives_way
  std::vector<int64_t> offered;  // bytes of all algorithms to choose from, ascending, each once
  std::optional<int64_t> free_bytes;  // of scratch memory, where what is free on the card limits it
};

// Of the algorithms that kernels are priced with in `context`, which has offers.
Result<WorkspacePlan> plan_workspaces(const BoundStep& bound, const Device& device,
                                      const TimeContext& context);

}  // namespace plimsoll
