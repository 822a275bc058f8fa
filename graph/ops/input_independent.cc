#include "graph/ops/input_independent.h"

#include <algorithm>

#include "graph/ops/op_row.h"

namespace plimsoll {

std::vector<char> input_independent(const Graph& graph, std::vector<char> besides) {
  std::vector<char> made = std::move(besides);
  made.resize(graph.tensors.size(), 0);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    made[id] = made[id] || t.contents || t.has_dims ||
               (t.kind == TensorKind::kParameter &&
                (t.origin == Origin::kGenerated || !is_float(t.dtype)));
  }
  for (const Node& node : graph.nodes) {
    const bool all = has(node, OpRow::kShapeOf) ||
                     std::all_of(node.inputs.begin(), node.inputs.end(),
                                 [&](TensorId in) { return in == kNoTensor || made[in]; });
    for (const TensorId out : node.outputs) {
      if (out != kNoTensor && all && !has(node, OpRow::kRandom)) made[out] = 1;
    }
  }
  return made;
}

}  // namespace plimsoll
