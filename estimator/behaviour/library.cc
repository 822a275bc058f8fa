#include "estimator/behaviour/library.h"

#include "estimator/behaviour/cublas.h"
#include "estimator/request/request.h"

namespace plimsoll {
namespace {

AlgorithmPolicy default_algorithm(FrameworkProfile::ConvPolicy policy) {
  switch (policy) {
    case FrameworkProfile::ConvPolicy::kHeuristic:
      return AlgorithmPolicy::kHeuristic;
    case FrameworkProfile::ConvPolicy::kAutotune:
      return AlgorithmPolicy::kAutotune;
    case FrameworkProfile::ConvPolicy::kIm2col:
      return AlgorithmPolicy::kIm2col;
    case FrameworkProfile::ConvPolicy::kProducts:
      return AlgorithmPolicy::kDeterministic;
  }
  return AlgorithmPolicy::kHeuristic;
}

// Most scratch memory of a convolution: what is asked, else the framework's where its library times
// algorithms or guesses one. Nothing: no limit.
std::optional<int64_t> workspace_limit(const FrameworkProfile& framework,
                                       const KernelRequest& asked, bool guessed) {
  if (asked.workspace_limit) return asked.workspace_limit;
  if (guessed && framework.guess_limit) return framework.guess_limit->value;
  if (framework.workspace_limit) return framework.workspace_limit->value;
  return std::nullopt;
}

TimingScratch timing_scratch(const FrameworkProfile& framework) {
  if (framework.autotune_outside) return TimingScratch::kLibrary;
  return framework.autotune_tries_each ? TimingScratch::kEach : TimingScratch::kLargest;
}

}  // namespace

LibraryBehaviour library_behaviour(const FrameworkProfile& framework, const KernelRequest& asked,
                                   bool tf32) {
  LibraryBehaviour behaviour;
  AskedAlgorithm algorithm{.policy = default_algorithm(framework.conv_policy)};
  if (asked.cudnn_benchmark)
    algorithm.policy =
        *asked.cudnn_benchmark ? AlgorithmPolicy::kAutotune : AlgorithmPolicy::kHeuristic;
  if (asked.conv_algorithm) algorithm = *asked.conv_algorithm;
  behaviour.algorithm = algorithm.policy;
  behaviour.policy = {.rule = framework.scratch_rule,
                      .tensor_cores = framework.tf32_convolutions || tf32,
                      .benchmark = algorithm.policy == AlgorithmPolicy::kAutotune ||
                                   algorithm.policy == AlgorithmPolicy::kTimeOnce,
                      .limit = workspace_limit(framework, asked, is_guessed(algorithm.policy)),
                      .forced = scratch_name(algorithm)};
  behaviour.timing = timing_scratch(framework);
  behaviour.pointwise_by_gemm = framework.pointwise_by_gemm;
  behaviour.gives_way = behaviour.policy.benchmark || framework.is_judged_by_demand();
  const auto products = [&](int major) {
    const CublasWorkspace workspace = cublas_workspace(framework, {major, 0});
    return workspace.stays ? 0 : workspace.bytes;
  };
  behaviour.product_bytes = products(8);
  behaviour.product_bytes_hopper = products(9);
  return behaviour;
}

}  // namespace plimsoll
