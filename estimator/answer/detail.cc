#include "estimator/answer/detail.h"

#include "estimator/answer/modules.h"

namespace plimsoll {

void add_detail(Estimate& estimate, const CompiledModel& model, const BoundStep& bound,
                const std::vector<KernelPrice>& prices, int64_t granule,
                std::span<const BufferId> storages) {
  constexpr size_t kMoments = 240, kTensors = 15,
                   kModules = 800;  // what a page's picture and table can show
  estimate.memory_curve = memory_curve(model, bound, prices, granule, storages, kMoments);
  // Those of a step, where the peak is one's.
  if (!estimate.memory.in_evaluation() && !estimate.memory.in_loading())
    estimate.peak_tensors = peak_tensors(model, bound, granule, storages, kTensors);
  estimate.modules = modules_of(estimate.layers, kModules);
}

}  // namespace plimsoll
