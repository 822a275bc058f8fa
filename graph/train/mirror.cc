#include "graph/train/mirror.h"

#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

bool multiplies(const Node& node) { return has_any(node, OpRow::kDense | OpRow::kConvolutional); }

bool is_mirrored(const Node& node) {
  return !multiplies(node) &&
         !has_any(node, OpRow::kConcatenates | OpRow::kRandom | OpRow::kOverTime);
}

}  // namespace

std::vector<parallel::Unit> mirrored_runs(const Graph& graph) {
  std::vector<parallel::Unit> runs;
  const auto count = static_cast<NodeId>(graph.nodes.size());
  for (NodeId id = 0; id < count;) {
    const NodeId first = id;
    while (id < count && is_mirrored(graph.nodes[id])) ++id;
    if (id == first) {
      ++id;
      continue;
    }
    parallel::Unit run{.module = "mirror", .first = first, .last = id};
    if (id < count && multiplies(graph.nodes[id])) {
      const TensorId read = graph.nodes[id].inputs.front();
      const NodeId maker = read == kNoTensor ? kNoNode : graph.tensors[read].producer;
      if (maker != kNoNode && maker >= first) run.last = ++id;
    }
    runs.push_back(std::move(run));
  }
  find_weights(graph, runs);
  return runs;
}

}  // namespace plimsoll
