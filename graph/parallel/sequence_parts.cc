#include "graph/parallel/sequence_parts.h"

#include <algorithm>

#include "graph/ops/op_row.h"
#include "graph/parallel/attention_reads.h"

namespace plimsoll::parallel {
namespace {

// What a sum over ranks is added to, where that is made before it and all ranks have it alike:
// of images and sound, whose first layers nobody shares. Megatron-LM has no sequence parallelism in
// such towers (examples/multimodal/model.py: vision_config.sequence_parallel = False).
bool joins_whole(const Graph& graph, const Consumers& readers, NodeId sum,
                 const std::map<TensorId, size_t>& parts) {
  TensorId made = graph.nodes[sum].outputs[0];
  while (readers[made].size() == 1) {
    const Node& reader = graph.nodes[readers[made].front()];
    if (graph.tensors[reader.outputs[0]].shape != graph.tensors[made].shape) return false;
    if (has(reader, OpRow::kAddition)) {
      const TensorId other = reader.inputs[reader.inputs[0] == made ? 1 : 0];
      const NodeId maker = graph.tensors[other].producer;
      if (maker == kNoNode || (maker < sum && !is_rows_of_table(graph, graph.nodes[maker])))
        return graph.tensors[other].shape == graph.tensors[made].shape && !parts.contains(other) &&
               !is_of_positions(graph, other);
    }
    made = reader.outputs[0];
  }
  return false;
}

}  // namespace

std::map<TensorId, size_t> sequence_parts(const Graph& graph, const SharedNodes& shared,
                                          const std::vector<TensorId>& received) {
  const auto shape = [&](TensorId id) -> const Shape& { return *graph.tensors[id].shape; };
  const auto has_shape = [&](TensorId id) { return id != kNoTensor && graph.tensors[id].shape; };
  const Consumers readers(graph);
  std::map<TensorId, size_t> parts;
  for (const TensorId id : received) {
    if (has_shape(id) && shape(id).size() >= 2) parts[id] = shape(id).size() - 2;
  }
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (shared.begins.contains(id)) continue;
    const bool sum = shared.ends.contains(id) && !joins_whole(graph, readers, id, parts);
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
