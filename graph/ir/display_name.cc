#include "graph/ir/display_name.h"

#include <fmt/format.h>

namespace plimsoll {

std::string display_name(const Graph& graph, NodeId node) {
  if (node == kNoNode || node >= graph.nodes.size()) return "(loss)";
  const Node& n = graph.nodes[node];
  if (!n.module.empty()) return n.module;
  if (!n.name.empty()) return n.name;
  return fmt::format("node {} ({})", node, n.op);
}

}  // namespace plimsoll
