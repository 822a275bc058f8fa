#include "graph/rewrite/fold.h"

#include <algorithm>
#include <vector>

#include "graph/ops/op_row.h"
#include "graph/rewrite/editor.h"

namespace plimsoll {
namespace {

// What an exporter writes between nodes of the device, to expand or cast what one of them made, is
// there too.
void spread_over_readers(Graph& graph) {
  std::vector<char> there(graph.tensors.size(), 0);
  for (Node& node : graph.nodes) {
    const OpRow* row = find_op(node.domain, node.op);
    const size_t data = std::min(node.inputs.size(), row ? row->host_from : node.inputs.size());
    node.notes.on_device = node.notes.on_device ||
                           std::any_of(node.inputs.begin(), node.inputs.begin() + data,
                                       [&](TensorId in) { return in != kNoTensor && there[in]; });
    if (!node.notes.on_device) continue;
    for (const TensorId out : node.outputs) {
      if (out != kNoTensor) there[out] = 1;
    }
  }
}

}  // namespace

size_t fold(Graph& graph) {
  spread_over_readers(graph);
  Rewrite rewrite(graph);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (rewrite.is_removed(id)) continue;
    if (graph.nodes[id].notes.on_device) continue;
    const std::vector<TensorId> outputs = graph.nodes[id].outputs;
    const bool known = std::all_of(outputs.begin(), outputs.end(), [&](TensorId out) {
      if (out == kNoTensor) return true;
      const Tensor& t = graph.tensors[out];
      const bool returned = rewrite.uses(out) > rewrite.readers(out).size();
      return (t.has_dims || t.contents) && !returned;
    });
    if (known) rewrite.make_constant(id);
  }
  const size_t gone = rewrite.removed_count();
  rewrite.finish();
  return gone;
}

}  // namespace plimsoll
