#include "graph/parallel/sequence_parts.h"

#include <algorithm>

namespace plimsoll::parallel {

std::map<TensorId, size_t> sequence_parts(const Graph& graph, const SharedNodes& shared,
                                          const std::vector<TensorId>& received) {
  const auto shape = [&](TensorId id) -> const Shape& { return *graph.tensors[id].shape; };
  const auto has_shape = [&](TensorId id) { return id != kNoTensor && graph.tensors[id].shape; };
  std::map<TensorId, size_t> parts;
  for (const TensorId id : received) {
    if (has_shape(id) && shape(id).size() >= 2) parts[id] = shape(id).size() - 2;
  }
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (shared.begins.contains(id)) continue;
    const bool sum = shared.ends.contains(id);
    const bool follows = std::ranges::any_of(
        node.inputs, [&](TensorId in) { return in != kNoTensor && parts.contains(in); });
    if (!sum && !follows) continue;
    for (const TensorId out : node.outputs) {
      if (has_shape(out) && shape(out).size() >= 2 && !shared.values.contains(out))
        parts[out] = shape(out).size() - 2;
    }
  }
  return parts;
}

}  // namespace plimsoll::parallel
