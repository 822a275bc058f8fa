// What an answer rests on, in sentences, and what there is to be said about it.
#pragma once

#include <string>
#include <vector>

#include "estimator/answer/estimate.h"
#include "estimator/library/workspace_plan.h"
#include "estimator/model/compiled_model.h"
#include "estimator/request/platform.h"
#include "estimator/time/kernel_price.h"

namespace plimsoll {

// An answer's parts, each of the stage before it.
struct AnswerParts {
  const Request& request;
  const Platform& platform;
  const CompiledModel& model;
  const Binding& usual;    // where time is read
  const Binding& largest;  // where memory is read
  const BoundStep& bound;  // there
  const WorkspacePlan& workspaces;
  const std::vector<KernelPrice>& prices;
};

std::vector<std::string> basis_of(const AnswerParts& parts, const Estimate& answer);

// warnings_of() the request, N526 for another algorithm than was asked for, W236 where nothing runs
// on the device, W237 where names of the code may hold more, N519 where the host's memory is not
// known.
Diagnostics diagnostics_of(const AnswerParts& parts, const Estimate& answer);

}  // namespace plimsoll
