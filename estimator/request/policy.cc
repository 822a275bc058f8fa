#include "estimator/request/policy.h"

#include "estimator/request/attention_kernels.h"

namespace plimsoll {
namespace {

ShardingPlan sharding_for(const Platform& platform, const Request& request) {
  ShardingPlan plan{.data_ranks = request.gpu_count,
                    .replicates = request.one_process(),
                    .sums_during_backward = platform.framework.exchange_overlaps,
                    .splits_layers = request.exchange == kSplitLayers};
  // kDefaultBucketBytesCap and kDefaultFirstBucketBytes of torch/csrc/distributed/c10d/reducer.hpp.
  if (platform.framework.framework == "pytorch" && !plan.replicates) {
    plan.bucket_bytes = int64_t{25} << 20;
    plan.first_bucket_bytes = int64_t{1} << 20;
    plan.copies_buckets = true;
  }
  return plan;
}

}  // namespace

Policy policy_for(const Platform& platform, const Request& request) {
  Policy policy = platform.framework.policy;
  policy.attention = attention_kernels(platform, request);
  // A profile's own layout is what its kernels use; only PyTorch's tensors carry one with them.
  policy.channels_last = request.layout == Layout::kChannelsLast;
  if (request.input_gradient) policy.first_layer_data_gradient = *request.input_gradient;
  policy.gradients_in_place = platform.framework.execution != FrameworkProfile::Execution::kEager;
  policy.relu_keeps_input = platform.framework.asked < platform.framework.relu_input_dropped;
  const bool has_tf32 = platform.device.peak("tf32_tensor") != nullptr;
  policy.tf32_convolutions = has_tf32 && platform.framework.tf32_convolutions;
  policy.tf32_matmuls = has_tf32 && platform.framework.tf32_matmuls;
  policy.sharding = sharding_for(platform, request);
  return policy;
}

}  // namespace plimsoll
