#include "estimator/behaviour/autograd.h"

#include <fmt/format.h>

#include <string_view>

#include "estimator/behaviour/attention_kernels.h"

namespace plimsoll {
namespace {

ExchangeBehaviour exchange_on(const Platform& platform) {
  const FrameworkProfile& framework = platform.framework;
  ExchangeBehaviour behaviour{.replicates = platform.one_process(),
                              .sums_during_backward = framework.exchange_overlaps};
  if (framework.bucket.value > 0 && !behaviour.replicates) {
    behaviour.bucket_bytes = framework.bucket.value;
    behaviour.first_bucket_bytes = framework.first_bucket.value;
    behaviour.copies_buckets = true;
  }
  return behaviour;
}

// torch.optim before 2.0 goes from parameter to parameter, line by line; its form by lists has to
// be asked for, and that of 2.0 takes more of them. Chainer's rules are a kernel for each
// parameter.
const OptimizerRow* row_that_runs(const Platform& platform, const OptimizerRow* row) {
  const FrameworkProfile& framework = platform.framework;
  const bool loops = framework.framework == "pytorch" && !framework.policy.foreach_optimizer;
  const bool of_2_0 = framework.asked < framework.denominators_in_place;
  const std::string_view form = loops ? "-loop" : of_2_0 ? "-2.0" : "";
  const OptimizerRow* formed = find_optimizer(fmt::format("{}{}", row->name, form));
  return formed ? formed : row;
}

}  // namespace

Policy policy_for(const Platform& platform, const KernelRequest& asked) {
  Policy policy = platform.framework.policy;
  policy.attention = attention_kernels(platform, asked.attention);
  // A profile's own layout is what its kernels use; only PyTorch's tensors carry one with them.
  policy.channels_last = asked.layout == Layout::kChannelsLast;
  if (asked.input_gradient) policy.first_layer_data_gradient = *asked.input_gradient;
  policy.gradients_in_place = platform.framework.execution != FrameworkProfile::Execution::kEager;
  policy.norms_in_half = asked.half_norms;
  policy.group_norm_channels_last =
      !(platform.framework.asked < platform.framework.group_norm_channels_last);
  policy.relu_keeps_input = platform.framework.asked < platform.framework.relu_input_dropped;
  policy.softmax_keeps_input = platform.framework.asked < platform.framework.softmax_input_dropped;
  const bool has_tf32 = platform.device.peak("tf32_tensor") != nullptr;
  policy.tf32_convolutions = has_tf32 && platform.framework.tf32_convolutions;
  policy.tf32_matmuls = has_tf32 && platform.framework.tf32_matmuls;
  policy.exchange = exchange_on(platform);
  return policy;
}

Recipe recipe_for(const Platform& platform, Recipe recipe) {
  recipe.parallel = platform.parallel;
  recipe.parallel.splits_layers = platform.exchange == kSplitLayers;
  // Graphs' allocators know how long gradients live.
  const bool eager = platform.framework.execution == FrameworkProfile::Execution::kEager;
  if (!recipe.zero_grad) recipe.zero_grad = eager ? platform.framework.zero_grad : ZeroGrad::kNone;
  recipe.optimizer = row_that_runs(platform, recipe.optimizer);
  return recipe;
}

AutogradBehaviour autograd_behaviour(const Platform& platform, const KernelRequest& asked,
                                     const Recipe& recipe) {
  return {.recipe = recipe_for(platform, recipe), .policy = policy_for(platform, asked)};
}

}  // namespace plimsoll
