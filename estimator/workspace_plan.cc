#include "estimator/workspace_plan.h"

#include <map>

#include "estimator/estimator.h"
#include "estimator/time_plan.h"

namespace plimsoll {

int capability_of(const Device& device) {
  return device.compute_capability.major * 10 + device.compute_capability.minor;
}

namespace {

bool pointwise(const ConvProblem<int64_t>& c) {
  const auto all_one = [](const std::array<int64_t, 3>& extents) {
    return extents[0] == 1 && extents[1] == 1 && extents[2] == 1;
  };
  return all_one(c.filter) && all_one(c.stride) && c.groups == 1;
}

}  // namespace

WorkspacePolicy workspace_policy(const FrameworkProfile& framework) {
  using Framework = WorkspacePolicy::Framework;
  WorkspacePolicy policy;
  policy.framework = framework.framework == "pytorch" ? Framework::kPyTorch
                     : framework.framework == "ideal" ? Framework::kIdeal
                                                      : Framework::kOther;
  policy.tensor_cores = framework.tf32_convolutions;
  policy.benchmark = framework.conv_policy == FrameworkProfile::ConvPolicy::kAutotune;
  if (framework.workspace_limit) policy.limit = framework.workspace_limit->value;
  return policy;
}

WorkspaceBooks::WorkspaceBooks(const Hwdb& hwdb, const Device& device, const Version& cudnn,
                               std::shared_ptr<const AskedWorkspaces> asked)
    : hwdb_(hwdb), asked_(std::move(asked)) {
  const auto number = [&](size_t i) { return i < cudnn.numbers.size() ? cudnn.numbers[i] : 0; };
  key_.capability = capability_of(device);
  key_.cudnn_major = number(0);
  key_.cudnn_minor = number(1);
}

Result<const WorkspaceBook*> WorkspaceBooks::of(DType dtype, bool channels_last) const {
  const std::lock_guard<std::mutex> lock(shelf_->reading);
  const std::pair place{dtype, channels_last};
  auto at = shelf_->books.find(place);
  if (at == shelf_->books.end()) {
    WorkspaceKey key = key_;
    key.dtype = dtype;
    key.channels_last = channels_last;
    auto book = WorkspaceBook::load(hwdb_, key, asked_);
    if (!book) return tl::unexpected(book.error());
    at = shelf_->books.emplace(place, std::move(*book)).first;
  }
  return &at->second;
}

Result<WorkspacePlan> plan_workspaces(const BoundStep& bound, const Platform& platform,
                                      const Request& request, const WorkspaceBooks& books) {
  WorkspacePolicy policy = workspace_policy(platform.framework);
  if (request.cudnn_benchmark) policy.benchmark = *request.cudnn_benchmark;
  if (request.workspace_limit) policy.limit = request.workspace_limit;
  if (request.recipe.precision == Precision::kTf32) policy.tensor_cores = true;
  if (!request.conv_algorithm.empty()) {
    const auto asked = asked_algorithm(request.conv_algorithm);
    if (!asked) return tl::make_unexpected(asked.error());
    policy.benchmark =
        asked->policy == AlgorithmPolicy::kAutotune || asked->policy == AlgorithmPolicy::kTimeOnce;
    policy.forced = scratch_name(*asked);
  }
  const bool timed = policy.benchmark && !platform.framework.autotune_outside;
  WorkspacePlan plan;
  plan.uses.resize(bound.kernels.size());
  plan.bases.resize(bound.kernels.size());
  std::optional<WorkspaceBasis> worst;
  for (KernelId id = 0; id < bound.kernels.size(); ++id) {
    const KernelAt& kernel = bound.kernels[id];
    const auto* problem = std::get_if<ConvProblem<int64_t>>(&kernel.problem);
    if (!problem) continue;
    if (platform.framework.pointwise_by_gemm && pointwise(*problem)) continue;
    const auto book = books.of(kernel.dtype, problem->channels_last);
    if (!book) return tl::unexpected(book.error());
    const auto choice = (*book)->choose(*problem, kernel.pass, policy);
    if (!choice) {
      Diagnostics faults = choice.error();
      for (Diagnostic& d : faults) d.message = kernel_label(kernel) + ": " + d.message;
      return tl::unexpected(std::move(faults));
    }
    plan.uses[id] = {
        .bytes = choice->plan.bytes, .largest = timed ? choice->largest : 0, .least = choice->low};
    if (timed && platform.framework.autotune_tries_each) plan.uses[id].tried = choice->tried;
    plan.bases[id] = name(choice->basis);
    ++plan.convolutions;
    if (choice->basis == WorkspaceBasis::kAsked) ++plan.asked;
    worst = std::max(worst.value_or(choice->basis), choice->basis);
  }
  plan.basis = worst ? name(*worst) : "none";
  return plan;
}

}  // namespace plimsoll
