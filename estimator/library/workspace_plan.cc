#include "estimator/library/workspace_plan.h"

#include <algorithm>
#include <utility>

#include "estimator/library/workspace/kernel_scratch.h"
#include "graph/ir/kernel_label.h"

namespace plimsoll {

namespace {

void add_offered(const WorkspaceChoice& choice, std::vector<int64_t>& offered) {
  offered.push_back(choice.plan.bytes);
  for (const ConvPlan& plan : choice.alternatives) offered.push_back(plan.bytes);
}

// Of kernels of PyTorch's own, and of products where it gives their workspace back.
int64_t own_scratch(const KernelAt& kernel, const LibraryBehaviour& library, const Device& device) {
  if (library.policy.rule != ScratchRule::kAten) return 0;
  if (std::holds_alternative<GemmProblem<int64_t>>(kernel.problem))
    return library.product_scratch(device.compute_capability);
  return kernel_scratch(kernel, device);
}

}  // namespace

Result<WorkspacePlan> plan_workspaces(const BoundStep& bound, const Device& device,
                                      const TimeContext& context) {
  const LibraryBehaviour& library = context.offers()->behaviour;
  const bool timed = library.policy.benchmark && library.timing != TimingScratch::kLibrary;
  WorkspacePlan plan;
  plan.algorithm_policy = library.algorithm;
  plan.gives_way = library.gives_way;
  plan.uses.resize(bound.kernels.size());
  plan.bases.resize(bound.kernels.size());
  plan.algorithms.resize(bound.kernels.size());
  std::optional<WorkspaceBasis> worst;
  for (KernelId id = 0; id < bound.kernels.size(); ++id) {
    const KernelAt& kernel = bound.kernels[id];
    if (const int64_t bytes = own_scratch(kernel, library, device); bytes > 0) {
      plan.uses[id] = {.bytes = bytes, .least = bytes, .exact = true};
      plan.bases[id] = name(WorkspaceBasis::kRule);
      worst = std::max(worst.value_or(WorkspaceBasis::kRule), WorkspaceBasis::kRule);
    }
    if (!std::holds_alternative<ConvProblem<int64_t>>(kernel.problem)) continue;
    const auto chosen = choose_convolution(kernel, context);
    if (!chosen) {
      Diagnostics faults = chosen.error();
      for (Diagnostic& d : faults) d.message = kernel_label(kernel) + ": " + d.message;
      return tl::unexpected(std::move(faults));
    }
    const WorkspaceChoice& choice = chosen->scratch;
    if (choice.plan.algorithm.empty()) continue;  // the library is not asked
    plan.algorithms[id] = choice.plan.algorithm;
    add_offered(choice, plan.offered);
    plan.uses[id] = {
        .bytes = choice.plan.bytes, .largest = timed ? choice.largest : 0, .least = choice.low};
    if (timed && library.timing == TimingScratch::kEach) plan.uses[id].tried = choice.tried;
    plan.bases[id] = name(choice.basis);
    ++plan.convolutions;
    if (choice.basis == WorkspaceBasis::kAsked) ++plan.asked;
    worst = std::max(worst.value_or(choice.basis), choice.basis);
  }
  std::ranges::sort(plan.offered);
  plan.offered.erase(std::unique(plan.offered.begin(), plan.offered.end()), plan.offered.end());
  plan.basis = worst ? name(*worst) : "none";
  return plan;
}

}  // namespace plimsoll
