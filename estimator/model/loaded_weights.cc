#include "estimator/model/loaded_weights.h"

#include <algorithm>

#include "graph/parallel/kept_parts.h"

namespace plimsoll {

LoadedWeights loaded_weights(const CompiledModel& model) {
  LoadedWeights weights;
  for (TensorId id = 0; id < model.graph.tensors.size(); ++id) {
    const Tensor& t = model.graph.tensors[id];
    const bool loaded =
        t.kind == TensorKind::kParameter && is_weight(model.weight_roles[id]) && t.shape;
    if (!loaded) continue;
    const bool parted =
        model.placements.kept.contains(id) && parallel::is_gathered(t, model.recipe.parallel);
    (parted ? weights.parted : weights.whole).push_back(id);
  }
  return weights;
}

bool loads_more(const CompiledModel& model, WeightLoading how) {
  if (how == WeightLoading::kParts || model.recorded) return false;
  if (how == WeightLoading::kCheckpoint) return true;
  const LoadedWeights weights = loaded_weights(model);
  const bool parted = !weights.parted.empty();
  if (how == WeightLoading::kBroadcast)
    return parted && model.recipe.parallel.sharded_by == ShardedBy::kFsdp1;
  if (parted || how != WeightLoading::kFp32) return parted;
  return std::ranges::any_of(weights.whole, [&](TensorId id) {
    const Tensor& t = model.graph.tensors[id];
    return t.quantized || bits(t.dtype) < 32;
  });
}

}  // namespace plimsoll
