#include "graph/parallel/rank_graph.h"

namespace plimsoll::parallel {

Graph with_parts(Graph graph, const TensorSplit& split, int64_t ranks) {
  for (const auto& [id, dimension] : split.values) {
    Dim& extent = (*graph.tensors[id].shape)[dimension];
    extent = part_of(extent, ranks);
  }
  for (const NodeId id : split.counting) {
    Attributes& attributes = graph.nodes[id].attributes;
    for (const char* name : {"num_heads", "q_num_heads", "kv_num_heads", "group"}) {
      const int64_t all = attributes.integer(name, 0);
      if (all > 1) attributes.set(name, all / ranks);
    }
  }
  return graph;
}

}  // namespace plimsoll::parallel
