#include "estimator/behaviour/allocator.h"

#include "estimator/behaviour/cublas.h"
#include "estimator/memory/allocator/caching.h"

namespace plimsoll {
namespace {

int64_t rounding_of(const FrameworkProfile& framework) {
  switch (framework.allocator) {
    case FrameworkProfile::Allocator::kPytorchCaching:
      return CachingRules{}.minimum_block;
    case FrameworkProfile::Allocator::kBfc:
      return 256;  // BFCAllocator's kMinAllocationSize
    default:
      return 1;
  }
}

InPlaceReuse in_place_of(const FrameworkProfile& framework, bool keeps_storages) {
  if (framework.policy.in_place_activations)
    return keeps_storages ? InPlaceReuse::kActivations : InPlaceReuse::kElementwise;
  return framework.image_models_in_place ? InPlaceReuse::kImageModels : InPlaceReuse::kNever;
}

// One per thread that multiplies matrices.
std::vector<int64_t> library_buffers(const FrameworkProfile& framework, const Device& device) {
  const auto [bytes, stays] = cublas_workspace(framework, device.compute_capability);
  return bytes > 0 && stays ? std::vector<int64_t>{bytes, bytes} : std::vector<int64_t>{};
}

}  // namespace

AllocatorBehaviour allocator_behaviour(const FrameworkProfile& framework, const Device& device) {
  const bool modules = framework.execution == FrameworkProfile::Execution::kModules;
  const bool keeps = modules || framework.execution == FrameworkProfile::Execution::kLayers;
  return {.rounding = rounding_of(framework),
          .in_place = in_place_of(framework, keeps),
          .keeps_storages = keeps,
          .by_modules = modules,
          .keeps_activation_gradients = framework.keeps_activation_gradients,
          .norm_buffers = framework.norm_buffers,
          .scratch_home = framework.workspace_home,
          .scratch_copies = framework.workspace_copies,
          .timing_empties_cache = framework.autotune_empties_cache,
          .library_buffers = library_buffers(framework, device),
          .prefetched_batches = framework.prefetched_batches,
          .python_names = framework.python_names,
          .system_reserve = framework.system_reserve,
          .takes_whole_card = framework.takes_whole_card,
          .memory_spread = framework.memory_spread,
          .demand_spread = framework.demand_spread};
}

}  // namespace plimsoll
