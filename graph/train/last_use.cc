#include "graph/train/last_use.h"

#include <algorithm>
#include <string_view>

#include "graph/ir/module_path.h"
#include "graph/ops/op_row.h"
#include "graph/train/held_names.h"

namespace plimsoll {
namespace {

// The modules whose code was running, outermost first. A name like a path lists just those; a
// dotted module path lists containers too, which are no calls: "layer.0" is one.
std::vector<std::string_view> calls_around(const Node& node) {
  if (!node.notes.calls.empty()) return parts_between('/', node.notes.calls);
  if (node.name.starts_with('/')) {
    auto scopes = parts_between('/', node.name);
    if (!scopes.empty()) scopes.pop_back();
    return scopes;
  }
  std::vector<std::string_view> calls;
  for (const std::string_view part : parts_between('.', node.module)) {
    if (is_number(part) && !calls.empty()) {
      const char* begin = calls.back().data();
      calls.back() = {begin, static_cast<size_t>(part.data() + part.size() - begin)};
    } else {
      calls.push_back(part);
    }
  }
  return calls;
}

struct Call {
  std::string_view name;
  NodeId begin;
  std::vector<TensorId> held;  // until it returns
};

bool is_arithmetic(const Node& node) {
  return has_any(node, OpRow::kAddition | OpRow::kMultiplication);
}

// Is it more than shape arithmetic or another view?
bool makes_data(const Graph& graph, const Node& node) {
  if (has(node, OpRow::kSharesStorage)) return false;
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId out) {
    return out != kNoTensor && is_float(graph.tensors[out].dtype) && !graph.tensors[out].has_dims;
  });
}

struct LastReader {
  NodeId begin = kNoNode;  // of the call, or the node itself
  bool is_call = false;
};

class Calls {
 public:
  Calls(const Graph& graph, std::vector<NodeId>& last)
      : graph_(graph), last_(last), names_(graph), first_reader_(graph.tensors.size()) {
    kernels_.push_back(0);
    for (const Node& node : graph.nodes)
      kernels_.push_back(kernels_.back() + (makes_data(graph, node) ? 1 : 0));
  }

  void hold(TensorId tensor, NodeId until) {
    if (last_[tensor] == kNoNode || last_[tensor] < until) last_[tensor] = until;
  }

  // Node `id` runs next: calls that it is not in have returned.
  void enter(NodeId id) {
    const Node& node = graph_.nodes[id];
    const bool says =
        node.name.starts_with('/') || !node.module.empty() || !node.notes.calls.empty();
    if (!says) return;
    const auto now = calls_around(node);
    size_t same = 0;
    while (same + 1 < open_.size() && same < now.size() && open_[same + 1].name == now[same]) {
      ++same;
    }
    leave(same + 1, id);
    for (size_t i = same; i < now.size(); ++i) open_.push_back({now[i], id, {}});
  }

  void leave(size_t depth, NodeId next) {
    for (; open_.size() > depth; open_.pop_back()) {
      for (const TensorId value : open_.back().held) hold(value, next - 1);
    }
  }

  // Values made before the outermost call that is open were passed to it. What is read twice in the
  // call that made it, or not before other kernels have run, has a name there and lives as long;
  // terms of a longer expression have none.
  void read(NodeId id, TensorId in) {
    const NodeId producer = graph_.tensors[in].producer;
    if (producer == kNoNode) return;
    const auto given = std::find_if(open_.begin(), open_.end(),
                                    [&](const Call& call) { return producer < call.begin; });
    if (given != open_.end()) given->held.push_back(in);
    const auto maker = std::prev(given);
    const bool by_call = given != open_.end();
    if (names_.tell(in, id)) return;
    const LastReader reader{by_call ? given->begin : id, by_call};
    LastReader& first = first_reader_[in];
    // Of code outside all modules nothing is known unless it calls one; what a call returned has a
    // name there if it is read twice.
    const bool is_known = maker != open_.begin() || by_call || first.is_call ||
                          !calls_around(graph_.nodes[producer]).empty();
    if (first.begin == kNoNode || first.begin < maker->begin) {
      first = reader;
      const bool waits = waits_for(reader.begin, producer) || (by_call && joins(producer, maker)) ||
                         (!by_call && has_waiting_twin(id, in));
      // Scores become their softmax, under one name.
      const bool renamed = !by_call && graph_.nodes[id].op == "Softmax";
      if (waits && !renamed && maker != open_.begin() && !is_arithmetic(graph_.nodes[producer]))
        keep(*maker, in, id);
      return;
    }
    if (first.begin != reader.begin && is_known) keep(*maker, in, id);
  }

  // What names held, where the code's statements tell of them.
  void hold_names() {
    for (TensorId value = 0; value < names_.until().size(); ++value) {
      if (names_.until()[value] != kNoNode) hold(value, names_.until()[value]);
    }
  }

 private:
  // By a name of `maker`'s code, or of a function inside the statement that `reader` is in too.
  void keep(Call& maker, TensorId in, NodeId reader) {
    const NodeId end = names_.end_of_statement(in, reader);
    if (end != kNoNode) hold(in, end);
    if (end == kNoNode) maker.held.push_back(in);
  }

  bool waits_for(NodeId reader, NodeId producer) const {
    return kernels_[reader] > kernels_[producer + 1];
  }

  // What is joined was put into one list, operand by operand, by the same code: if one waits for
  // the others there, the last one is in it too.
  bool has_waiting_twin(NodeId id, TensorId in) const {
    const Node& node = graph_.nodes[id];
    if (!has(node, OpRow::kConcatenates)) return false;
    const std::string& op = graph_.nodes[graph_.tensors[in].producer].op;
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId other) {
      const NodeId maker = graph_.tensors[other].producer;
      return maker != kNoNode && graph_.nodes[maker].op == op && waits_for(id, maker);
    });
  }

  // A call that joins what it was given has a name for it: `concated_features` of DenseNet's
  // layers. What it made itself it joins where it passes it on (Segformer's head).
  bool joins(NodeId producer, std::vector<Call>::const_iterator maker) const {
    const Node& node = graph_.nodes[producer];
    const auto depth = static_cast<size_t>(maker - open_.begin());
    return has(node, OpRow::kConcatenates) && calls_around(node).size() == depth &&
           std::none_of(node.inputs.begin(), node.inputs.end(), [&](TensorId in) {
             const NodeId made = graph_.tensors[in].producer;
             return made != kNoNode && made >= maker->begin;
           });
  }

  const Graph& graph_;
  std::vector<NodeId>& last_;
  HeldNames names_;
  std::vector<LastReader> first_reader_;
  std::vector<size_t> kernels_;              // before each node
  std::vector<Call> open_{Call{{}, 0, {}}};  // the first is the model itself
};

}  // namespace

std::vector<std::vector<TensorId>> values_let_go(const Graph& graph,
                                                 std::span<const TensorId> returned,
                                                 bool names_hold) {
  std::vector<NodeId> last(graph.tensors.size(), kNoNode);
  Calls calls(graph, last);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    calls.enter(id);
    for (const TensorId in : graph.nodes[id].inputs) {
      if (in == kNoTensor) continue;
      calls.hold(in, id);
      if (names_hold && !has(graph.nodes[id], OpRow::kShapeOf)) calls.read(id, in);
    }
  }
  calls.leave(0, static_cast<NodeId>(graph.nodes.size()));
  if (names_hold) calls.hold_names();
  std::vector<std::vector<TensorId>> let_go(graph.nodes.size());
  for (const TensorId out : returned) last[out] = kNoNode;
  for (TensorId id = 0; id < last.size(); ++id) {
    if (last[id] != kNoNode && graph.tensors[id].kind == TensorKind::kValue) {
      let_go[last[id]].push_back(id);
    }
  }
  return let_go;
}

}  // namespace plimsoll
