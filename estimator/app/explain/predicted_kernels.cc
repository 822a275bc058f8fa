#include "estimator/app/explain/predicted_kernels.h"

#include <algorithm>
#include <map>
#include <set>

#include "estimator/estimator.h"
#include "estimator/library/conv_choice.h"
#include "estimator/library/workspace_plan.h"
#include "estimator/request/find_platform.h"
#include "estimator/time/step_conditions.h"
#include "graph/base/try.h"
#include "graph/ir/kernel_label.h"

namespace plimsoll {
namespace {

std::vector<PredictedKernel> kernels_of(const CompiledModel& model, const BoundStep& bound,
                                        const WorkspacePlan& workspaces,
                                        const DispatchBehaviour& dispatch,
                                        const TimeContext& context) {
  std::vector<PredictedKernel> kernels;
  std::map<KernelId, size_t> places;
  for (const auto& [id, counted] : count_launches(model.step, dispatch.adds_bias)) {
    const auto [place, is_new] = places.try_emplace(id, kernels.size());
    if (is_new) {
      PredictedKernel& k = kernels.emplace_back();
      k.kernel = bound.kernels[id];
      k.label = kernel_label(k.kernel);
      k.time = kernel_time(k.kernel, context);
      k.algorithm = workspaces.algorithms[id].empty() ? std::string(k.time.algorithm)
                                                      : workspaces.algorithms[id];
      k.workspace_bytes = workspaces.uses[id].bytes;
    }
    kernels[place->second].launches[static_cast<size_t>(counted.phase)] += counted.count;
  }
  return kernels;
}

}  // namespace

Result<PredictedStep> predicted_kernels(const Request& request, const Hwdb& hwdb) {
  auto platform =
      TRY(find_platform(hwdb, request, request.devices.empty() ? "" : request.devices.front()));
  const auto model = TRY(compile(request, platform));
  const auto evaluator = TRY(Evaluator::make(std::move(platform), request));
  const auto bound = TRY(bind_step(model.step, model.binding));
  const auto workspaces =
      TRY(plan_workspaces(bound, evaluator.platform().device, evaluator.context()));
  PredictedStep step;
  const TimeContext alone = evaluator.context().alone();
  step.kernels = kernels_of(model, bound, workspaces, evaluator.behaviour().dispatch, alone);
  step.policy = evaluator.context().offers()->behaviour.policy;
  step.framework = evaluator.platform().framework.id;
  step.batch = batch_at(model, model.binding);
  std::set<int> used;
  for (const PredictedKernel& k : step.kernels) {
    if (used.insert(k.time.basis).second)
      step.basis.push_back("time: " + alone.basis(k.time.basis));
  }
  return step;
}

}  // namespace plimsoll
