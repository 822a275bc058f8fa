#include "estimator/request/policy.h"

#include "estimator/request/attention_kernels.h"

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

}  // namespace

Policy policy_for(const Platform& platform, const KernelRequest& asked) {
  Policy policy = platform.framework.policy;
  policy.attention = attention_kernels(platform, asked.attention);
  // A profile's own layout is what its kernels use; only PyTorch's tensors carry one with them.
  policy.channels_last = asked.layout == Layout::kChannelsLast;
  if (asked.input_gradient) policy.first_layer_data_gradient = *asked.input_gradient;
  policy.gradients_in_place = platform.framework.execution != FrameworkProfile::Execution::kEager;
  policy.relu_keeps_input = platform.framework.asked < platform.framework.relu_input_dropped;
  const bool has_tf32 = platform.device.peak("tf32_tensor") != nullptr;
  policy.tf32_convolutions = has_tf32 && platform.framework.tf32_convolutions;
  policy.tf32_matmuls = has_tf32 && platform.framework.tf32_matmuls;
  policy.exchange = exchange_on(platform);
  return policy;
}

Recipe recipe_for(const Platform& platform, Recipe recipe) {
  recipe.parallel = platform.parallel;
  recipe.parallel.splits_layers = platform.exchange == kSplitLayers;
  return recipe;
}

}  // namespace plimsoll
