#include "graph/ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graph/base/escape.h"

namespace plimsoll {

TensorId Graph::add_tensor(Tensor tensor) {
  tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(tensors.size() - 1);
}

NodeId Graph::add_node(Node node) {
  const auto id = static_cast<NodeId>(nodes.size());
  for (const TensorId out : node.outputs) {
    if (out != kNoTensor) tensors[out].producer = id;
  }
  nodes.push_back(std::move(node));
  return id;
}

std::string describe(const Graph& graph, NodeId node) {
  const Node& n = graph.nodes[node];
  if (n.name.empty()) return fmt::format("node {} ({})", node, shortened(n.op));
  return fmt::format("node {} '{}' ({})", node, shortened(n.name), shortened(n.op));
}

void add_guess(Diagnostics& diagnostics, size_t from, const Guess& guess) {
  for (size_t i = from; i < diagnostics.size(); ++i) {
    std::string& help = diagnostics[i].help;
    help += fmt::format("{}the {} branch of {} was guessed; for the other give {}",
                        help.empty() ? "" : "; ", guess.taken, guess.node, guess.remedy);
  }
}

std::vector<char> read_by_nodes(const Graph& graph) {
  std::vector<char> read(graph.tensors.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const TensorId in : node.inputs) {
      if (in != kNoTensor) read[in] = 1;
    }
  }
  return read;
}

Consumers::Consumers(const Graph& graph) : begin_(graph.tensors.size() + 1, 0) {
  for (const Node& node : graph.nodes) {
    for (const TensorId in : node.inputs) {
      if (in != kNoTensor) ++begin_[in + 1];
    }
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  nodes_.resize(begin_.back());
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId in : graph.nodes[id].inputs) {
      if (in != kNoTensor) nodes_[next[in]++] = id;
    }
  }
}

namespace {

Result<void> check_producers(const Graph& graph) {
  std::vector<NodeId> seen(graph.tensors.size(), kNoNode);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId out : graph.nodes[id].outputs) {
      if (out == kNoTensor) continue;
      if (seen[out] != kNoNode || graph.tensors[out].kind != TensorKind::kValue) {
        return error(
            "E222",
            fmt::format("'{}' is produced twice{}", shortened(graph.tensors[out].name),
                        seen[out] != kNoNode ? ", first by " + describe(graph, seen[out]) : ""),
            {.file = {}, .node = describe(graph, id)});
      }
      seen[out] = id;
    }
  }
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId in : graph.nodes[id].inputs) {
      if (in == kNoTensor || graph.tensors[in].kind != TensorKind::kValue) continue;
      if (seen[in] == kNoNode) {
        return error("E221",
                     fmt::format("input '{}' is not produced by any node, input or initializer",
                                 shortened(graph.tensors[in].name)),
                     {.file = {}, .node = describe(graph, id)});
      }
    }
  }
  return {};
}

bool is_sorted(const Graph& graph) {
  std::vector<char> ready(graph.tensors.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const TensorId in : node.inputs) {
      if (in != kNoTensor && graph.tensors[in].kind == TensorKind::kValue && !ready[in])
        return false;
    }
    for (const TensorId out : node.outputs) {
      if (out != kNoTensor) ready[out] = 1;
    }
  }
  return true;
}

// Follows unfinished producers from any unfinished node until one repeats.
std::string name_cycle(const Graph& graph, const std::vector<int>& waiting) {
  NodeId at = 0;
  while (waiting[at] == 0) ++at;
  std::vector<NodeId> path;
  std::vector<char> visited(graph.nodes.size(), 0);
  while (!visited[at]) {
    visited[at] = 1;
    path.push_back(at);
    for (const TensorId in : graph.nodes[at].inputs) {
      if (in == kNoTensor) continue;
      const NodeId producer = graph.tensors[in].producer;
      if (producer != kNoNode && waiting[producer] > 0) {
        at = producer;
        break;
      }
    }
  }
  const auto start = std::find(path.begin(), path.end(), at);
  std::string text;
  size_t shown = 0;
  for (auto it = path.rbegin(); it != std::make_reverse_iterator(start) && shown < 8;
       ++it, ++shown) {
    text += describe(graph, *it) + " -> ";
  }
  return text + (shown == 8 ? "..." : describe(graph, path.back()));
}

Result<void> sort_nodes(Graph& graph) {
  const Consumers readers(graph);
  std::vector<int> waiting(graph.nodes.size(), 0);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId in : graph.nodes[id].inputs) {
      if (in != kNoTensor && graph.tensors[in].producer != kNoNode) ++waiting[id];
    }
  }
  std::vector<NodeId> order;
  order.reserve(graph.nodes.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (waiting[id] == 0) order.push_back(id);
  }
  for (size_t next = 0; next < order.size(); ++next) {
    for (const TensorId out : graph.nodes[order[next]].outputs) {
      if (out == kNoTensor) continue;
      for (const NodeId reader : readers[out]) {
        if (--waiting[reader] == 0) order.push_back(reader);
      }
    }
  }
  if (order.size() != graph.nodes.size()) {
    return error("E223", "the nodes form a cycle: " + name_cycle(graph, waiting));
  }
  std::vector<Node> sorted;
  sorted.reserve(order.size());
  for (const NodeId id : order) sorted.push_back(std::move(graph.nodes[id]));
  graph.nodes = std::move(sorted);
  return {};
}

}  // namespace

Result<void> verify(Graph& graph, Diagnostics& warnings) {
  if (auto checked = check_producers(graph); !checked) return checked;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId out : graph.nodes[id].outputs) {
      if (out != kNoTensor) graph.tensors[out].producer = id;
    }
  }
  if (is_sorted(graph)) return {};
  if (auto sorted = sort_nodes(graph); !sorted) return sorted;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId out : graph.nodes[id].outputs) {
      if (out != kNoTensor) graph.tensors[out].producer = id;
    }
  }
  warnings.push_back(warning("W202", "nodes are not in topological order; sorted"));
  return {};
}

std::set<std::string> free_symbols(const Graph& graph) {
  std::set<std::string> names;
  for (const Tensor& t : graph.tensors) {
    if (t.kind == TensorKind::kValue || !t.shape) continue;
    for (const Dim& d : *t.shape) d.collect_symbols(names);
  }
  return names;
}

}  // namespace plimsoll
