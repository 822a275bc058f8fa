#include "graph/parallel/sequence_split.h"

#include <algorithm>
#include <map>

namespace plimsoll::parallel {

void split_sequence(const Graph& graph, const std::vector<TensorId>& received, TensorSplit& split) {
  const auto shape = [&](TensorId id) -> const Shape& { return *graph.tensors[id].shape; };
  const auto has_shape = [&](TensorId id) { return id != kNoTensor && graph.tensors[id].shape; };
  std::map<TensorId, size_t> parts;
  for (const TensorId id : received) {
    if (has_shape(id) && shape(id).size() >= 2) parts[id] = shape(id).size() - 2;
  }
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (split.begins.contains(id)) continue;
    const bool sum = split.ends.contains(id);
    const bool follows = std::ranges::any_of(
        node.inputs, [&](TensorId in) { return in != kNoTensor && parts.contains(in); });
    if (!sum && !follows) continue;
    for (const TensorId out : node.outputs) {
      if (has_shape(out) && shape(out).size() >= 2 && !split.values.contains(out))
        parts[out] = shape(out).size() - 2;
    }
  }
  split.values.merge(parts);
}

}  // namespace plimsoll::parallel
