#include "graph/train/module_calls.h"

#include "graph/ir/module_path.h"

namespace plimsoll {

std::vector<std::string_view> calls_around(const Node& node) {
  if (!node.notes.calls.empty()) return parts_between('/', node.notes.calls);
  if (node.name.starts_with('/')) {
    auto scopes = parts_between('/', node.name);
    if (!scopes.empty()) scopes.pop_back();
    return scopes;
  }
  return calls_of(node.module);
}

std::vector<std::string_view> calls_of(std::string_view module) {
  std::vector<std::string_view> calls;
  for (const std::string_view part : parts_between('.', module)) {
    if (is_number(part) && !calls.empty()) {
      const char* begin = calls.back().data();
      calls.back() = {begin, static_cast<size_t>(part.data() + part.size() - begin)};
    } else {
      calls.push_back(part);
    }
  }
  return calls;
}

std::vector<NodeId> ends_of_calls(const Graph& graph) {
  std::vector<NodeId> ends(graph.nodes.size());
  struct Open {
    std::string_view name;
    std::vector<NodeId> code;
  };
  std::vector<Open> open(1);  // the first is the model itself
  const auto leave = [&](size_t depth, NodeId next) {
    for (; open.size() > depth; open.pop_back()) {
      for (const NodeId id : open.back().code) ends[id] = next - 1;
    }
  };
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    const bool scoped =
        node.name.starts_with('/') || !node.module.empty() || !node.notes.calls.empty();
    if (scoped) {
      const auto now = calls_around(node);
      size_t same = 0;
      while (same + 1 < open.size() && same < now.size() && open[same + 1].name == now[same])
        ++same;
      leave(same + 1, id);
      for (size_t i = same; i < now.size(); ++i) open.push_back({now[i], {}});
    }
    open.back().code.push_back(id);
  }
  leave(0, static_cast<NodeId>(graph.nodes.size()));
  return ends;
}

std::string_view call_path(const Node& node) {
  if (!node.notes.calls.empty()) return node.notes.calls;
  const std::string_view name = node.name;
  return name.starts_with('/') ? name.substr(0, name.rfind('/')) : std::string_view(node.module);
}

}  // namespace plimsoll
