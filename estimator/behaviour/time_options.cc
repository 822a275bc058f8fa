#include "estimator/behaviour/time_options.h"

#include <optional>

namespace plimsoll {
namespace {

int library_number(const Version& version) {
  const auto part = [&](size_t i) { return i < version.numbers.size() ? version.numbers[i] : 0; };
  return part(0) * 100 + part(1);
}

// Parameters in 16 bits keep PyTorch's norms from cuDNN (aten/src/ATen/native/Normalization.cpp).
bool has_persistent_norm(const FrameworkProfile& framework, const Version& cudnn,
                         const Recipe& recipe) {
  const bool half = bits(recipe.precision->storage) <= 16 && !recipe.precision->batch_norms_in_fp32;
  return framework.persistent_norm_since && !(cudnn < *framework.persistent_norm_since) && !half;
}

RecurrentHabits recurrent_habits(const FrameworkProfile& framework, const Version& cudnn) {
  const auto since = [&](const std::optional<Version>& first) {
    return first && !(cudnn < *first);
  };
  return {.persistent = since(framework.persistent_recurrent_since),
          .small = since(framework.small_recurrent_since)};
}

// Whether the framework turns the network's images to channels last by itself.
bool turns_half(const Platform& platform, const Recipe& recipe) {
  const FrameworkProfile& f = platform.framework;
  const bool half = product_type(*recipe.precision) == DType::kFloat16;
  return half && f.turns_half_since && !(f.asked < *f.turns_half_since) &&
         platform.device.peak("fp16_tensor") != nullptr;
}

}  // namespace

TimeOptions time_options(const Platform& platform, const KernelRequest& requested,
                         const Recipe& recipe, AlgorithmPolicy policy) {
  TimeOptions options;
  options.library.cudnn = library_number(platform.cudnn);
  options.policy = policy;
  const bool last = requested.layout == Layout::kNative ? platform.framework.channels_last
                                                        : requested.layout == Layout::kChannelsLast;
  const bool converted = turns_half(platform, recipe);
  options.layout = last || converted ? Layout::kChannelsLast : Layout::kChannelsFirst;
  if (last && !converted) {
    options.norm_factor = platform.framework.channels_last_norm;
    options.concat_factor = platform.framework.channels_last_concat;
  }
  options.max_pool_backward = platform.framework.max_pool_backward;
  options.bias_factor = platform.framework.bias_factor;
  options.relu_factor = platform.framework.relu_factor;
  options.separate_batch_norm = platform.framework.separate_batch_norm;
  options.persistent_norm = has_persistent_norm(platform.framework, platform.cudnn, recipe);
  options.recurrent = recurrent_habits(platform.framework, platform.cudnn);
  options.bf16_library_since = static_cast<int>(platform.framework.bf16_library_since);
  options.first_flash = requested.attention == AskedAttention::kFlashFirst;
  if (platform.machine) options.machine = platform.machine->factors;
  if (requested.conv_algorithm) options.forced = requested.conv_algorithm->algorithm;
  return options;
}

}  // namespace plimsoll
