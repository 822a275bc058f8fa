#include "estimator/library/workspace_plan.h"

#include <algorithm>
#include <utility>

#include "estimator/library/workspace/attention.h"
#include "estimator/library/workspace/reduction.h"
#include "estimator/request/platform.h"
#include "graph/ir/kernel_label.h"

namespace plimsoll {

WorkspacePolicy workspace_policy(const FrameworkProfile& framework) {
  WorkspacePolicy policy;
  policy.rule = framework.scratch_rule;
  policy.tensor_cores = framework.tf32_convolutions;
  policy.benchmark = framework.conv_policy == FrameworkProfile::ConvPolicy::kAutotune;
  if (framework.conv_policy == FrameworkProfile::ConvPolicy::kProducts)
    policy.forced = scratch_name({.policy = AlgorithmPolicy::kDeterministic});
  if (framework.workspace_limit) policy.limit = framework.workspace_limit->value;
  return policy;
}

std::optional<int64_t> workspace_limit(const FrameworkProfile& framework,
                                       const KernelRequest& asked, bool guessed) {
  if (asked.workspace_limit) return asked.workspace_limit;
  if (guessed && framework.guess_limit) return framework.guess_limit->value;
  if (framework.workspace_limit) return framework.workspace_limit->value;
  return std::nullopt;
}

ConvOffers conv_offers(const Platform& platform, const KernelRequest& asked, bool tf32) {
  WorkspacePolicy policy = workspace_policy(platform.framework);
  bool guessed = platform.framework.conv_policy == FrameworkProfile::ConvPolicy::kHeuristic;
  if (asked.cudnn_benchmark) {
    policy.benchmark = *asked.cudnn_benchmark;
    policy.forced.clear();
    guessed = !policy.benchmark;
  }
  if (tf32) policy.tensor_cores = true;
  if (const auto& algorithm = asked.conv_algorithm) {
    policy.benchmark = algorithm->policy == AlgorithmPolicy::kAutotune ||
                       algorithm->policy == AlgorithmPolicy::kTimeOnce;
    policy.forced = scratch_name(*algorithm);
    guessed = is_guessed(algorithm->policy);
  }
  policy.limit = workspace_limit(platform.framework, asked, guessed);
  const bool gives_way = policy.benchmark || platform.framework.is_judged_by_demand();
  return ConvOffers{
      WorkspaceTableCache(platform.hwdb, platform.device, platform.cudnn, platform.asked),
      std::move(policy), platform.framework.pointwise_by_gemm, gives_way};
}

namespace {

void add_offered(const WorkspaceChoice& choice, std::vector<int64_t>& offered) {
  offered.push_back(choice.plan.bytes);
  for (const ConvPlan& plan : choice.alternatives) offered.push_back(plan.bytes);
}

// Of kernels of PyTorch's own.
int64_t own_scratch(const KernelAt& kernel, const TimeContext& context, const Device& device) {
  if (context.offers()->policy.rule != ScratchRule::kAten) return 0;
  if (const auto* attention = std::get_if<AttentionProblem<int64_t>>(&kernel.problem))
    return attention_workspace(*attention, kernel.pass, kernel.dtype);
  if (kernel.op != "column_sum" || kernel.written == 0) return 0;
  return reduction_workspace(kernel.read / kernel.written, kernel.written * 8 / bits(kernel.dtype),
                             device);
}

}  // namespace

Result<WorkspacePlan> plan_workspaces(const BoundStep& bound, const Platform& platform,
                                      const TimeContext& context) {
  const bool timed = context.offers()->policy.benchmark && !platform.framework.autotune_outside;
  WorkspacePlan plan;
  plan.algorithm_policy = context.options().policy;
  plan.gives_way = context.offers()->gives_way;
  plan.uses.resize(bound.kernels.size());
  plan.bases.resize(bound.kernels.size());
  plan.algorithms.resize(bound.kernels.size());
  std::optional<WorkspaceBasis> worst;
  for (KernelId id = 0; id < bound.kernels.size(); ++id) {
    const KernelAt& kernel = bound.kernels[id];
    if (const int64_t bytes = own_scratch(kernel, context, platform.device); bytes > 0) {
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
    if (timed && platform.framework.autotune_tries_each) plan.uses[id].tried = choice.tried;
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
