#include "graph/parallel/split_layer.h"

#include "graph/eager/exchanged.h"

namespace plimsoll::parallel {

const Placement* SplitLayers::placed(NodeId node) const {
  const std::vector<TensorId>& inputs = graph_.nodes[node].inputs;
  const auto at = inputs.size() > 1 ? split_.find(inputs[1]) : split_.end();
  return at == split_.end() ? nullptr : &at->second;
}

// The samples of all devices; backward their gradients are summed and scattered.
void SplitLayers::before_node(NodeId node, std::vector<eager::Value>& inputs) {
  const Placement* of = placed(node);
  if (!of) return;
  Shape sizes = inputs[0].sizes();
  sizes.front() *= m_.recipe().parallel.mesh.extent(of->axis);
  inputs[0] = exchanged(m_, inputs[0], sizes, of->axis, CollectiveKind::kAllGather,
                        CollectiveKind::kReduceScatter);
}

// All outputs of this device's samples; an all-to-all is what backward does too.
void SplitLayers::after_node(NodeId node, std::vector<eager::Value>& outputs) {
  const Placement* of = placed(node);
  if (!of) return;
  Shape sizes = outputs[0].sizes();
  sizes.front() = floor_div(sizes.front(), m_.recipe().parallel.mesh.extent(of->axis));
  sizes.back() = graph_.tensors[graph_.nodes[node].outputs[0]].shape->back();
  outputs[0] = exchanged(m_, outputs[0], sizes, of->axis, CollectiveKind::kAllToAll,
                         CollectiveKind::kAllToAll);
}

}  // namespace plimsoll::parallel
