#include "graph/train/folded_targets.h"

#include <optional>

#include "graph/ops/op_row.h"
#include "graph/train/held_names.h"

namespace plimsoll {

std::map<NodeId, std::vector<TensorId>> folded_targets(const Graph& graph,
                                                       const std::vector<WeightRole>& kinds) {
  std::map<NodeId, std::vector<TensorId>> made_before;
  std::optional<HeldNames> names;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (!has(node, OpRow::kScatters) || node.notes.statements.empty()) continue;
    const TensorId target = node.inputs[0];
    if (target == kNoTensor || graph.tensors[target].kind != TensorKind::kParameter) continue;
    if (kinds[target] != WeightRole::kComputed || !is_float(graph.tensors[target].dtype)) continue;
    if (!names) names.emplace(graph);
    made_before[names->begin_of_statement(id)].push_back(target);
  }
  return made_before;
}

}  // namespace plimsoll
