#include "graph/rewrite/fold.h"

#include <algorithm>

#include "graph/rewrite/editor.h"

namespace plimsoll {

size_t fold(Graph& graph) {
  Rewrite rewrite(graph);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (rewrite.is_removed(id)) continue;
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
