#include "graph/train/last_use.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "graph/base/cancel.h"
#include "graph/exporter/library_names.h"
#include "graph/ir/module_path.h"
#include "graph/ops/op_row.h"
#include "graph/train/held_names.h"
#include "graph/train/loop_turns.h"
#include "graph/train/module_calls.h"

namespace plimsoll {
namespace {

struct Call {
  std::string_view name;
  NodeId begin;
  std::vector<TensorId> held;  // until it returns
  // The calls that its code made and that have returned: their first nodes, and which came next.
  std::vector<std::pair<NodeId, NodeId>> made{};
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

// Rows of a table of the file: an embedding.
bool looks_up(const Graph& graph, const Node& node) {
  if (!has(node, OpRow::kPicksByIndex)) return false;
  const Tensor& table = graph.tensors[node.inputs[0]];
  return table.kind == TensorKind::kParameter && is_float(table.dtype) && table.shape &&
         table.shape->size() == 2;
}

// Who first read a value in the code of one call, which the value was made in or returned to.
struct FirstReader {
  NodeId begin = kNoNode;  // of the call that it was passed to, or the node itself
  bool is_call = false;
  size_t depth = 0;  // of the call whose code read it, or passed it on
};

// What loops tell of names, where the code's statements tell nothing.
std::vector<NodeId> turns_beside(const HeldNames& names, const Graph& graph) {
  std::vector<NodeId> turns = retained_by_turns(graph);
  for (TensorId value = 0; value < turns.size(); ++value) {
    if (names.until()[value] != kNoNode) turns[value] = kNoNode;
  }
  return turns;
}

// Parts of lists, each with the first node of the call that it was passed to.
using PartedLists = std::set<std::pair<NodeId, TensorId>>;

class Calls {
 public:
  Calls(const Graph& graph, const HeldNames& names, const PartedLists& parted,
        std::vector<NodeId>& last)
      : graph_(graph),
        names_(names),
        turns_(turns_beside(names, graph)),
        parted_(parted),
        last_(last),
        first_reader_(graph.tensors.size()),
        last_reader_(graph.tensors.size(), kNoNode) {
    kernels_.push_back(0);
    lookups_.push_back(0);
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.nodes[id];
      for (const TensorId in : node.inputs) {
        if (in != kNoTensor) last_reader_[in] = id;
      }
      kernels_.push_back(kernels_.back() + (makes_data(graph, node) ? 1 : 0));
      lookups_.push_back(lookups_.back() + (looks_up(graph, node) ? 1 : 0));
      if (has(node, OpRow::kConcatenates)) ++joins_in_[call_path(node)];
    }
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
      if (open_.size() > 1) open_[open_.size() - 2].made.emplace_back(open_.back().begin, next);
    }
  }

  // What the config says that a module's code has a name for (NodeNotes::local_to).
  void make(const Node& node) {
    if (node.notes.local_to.empty() || node.outputs.back() == kNoTensor) return;
    const size_t depth = calls_of(node.notes.local_to).size();
    if (depth < open_.size()) open_[depth].held.push_back(node.outputs.back());
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
    const auto* call = returned_by(*maker, producer);
    if (by_call && call && is_decoder(*given, id) && is_encoder(*call, *maker))
      hold(in, static_cast<NodeId>(graph_.nodes.size() - 1));
    if (names_.tell(in, id) || turns_[in] != kNoNode) return;
    const FirstReader reader{by_call ? given->begin : id, by_call,
                             static_cast<size_t>(maker - open_.begin())};
    FirstReader& first = first_reader_[in];
    // Of code outside all modules nothing is known unless it calls one; what a call returned has a
    // name there if it is read twice.
    const bool is_known = maker != open_.begin() || by_call || first.is_call ||
                          !calls_around(graph_.nodes[producer]).empty();
    // What a call read of its own before it returned it is no reading by the code around it.
    if (first.begin == kNoNode || first.depth != reader.depth) {
      first = reader;
      const NodeId made = call ? call->second - 1 : producer;
      const bool late = by_call && waits_for(reader.begin, made);
      if (late) passed_on_[maker->begin][reader.begin].insert(in);
      if (is_part(reader, in)) return;
      const bool waits = by_call ? late || joins(producer, maker)
                                 : waits_for(id, made) || has_waiting_twin(id, in);
      // Scores become their softmax, under one name.
      const bool renamed = !by_call && graph_.nodes[id].op == "Softmax";
      const bool named = waits && !renamed && !(by_call && begins_loop(*given)) &&
                         !is_arithmetic(graph_.nodes[producer]);
      if (maker != open_.begin() && (named || (call && is_named(*call, *maker))))
        keep(*maker, in, id);
      return;
    }
    if (first.begin == reader.begin || !is_known) return;
    if (!by_call && first.is_call && takes_over(id, in, *maker)) return;
    if (by_call) passed_on_[maker->begin][reader.begin].insert(in);
    if (!is_part(reader, in)) keep(*maker, in, id);
  }

  // Calls of one call's code that are passed several values each which others were passed before,
  // and no two of them the same: parts of a list that gets shorter, as a U-Net's decoders take of
  // what its encoders made. The list's name tells of no part for longer. A single such call may be
  // passed a list that goes on.
  PartedLists parted_lists() const {
    PartedLists parts;
    for (const auto& [maker, calls] : passed_on_) {
      std::map<TensorId, size_t> passed;
      for (const auto& [begin, values] : calls) {
        for (const TensorId value : values) ++passed[value];
      }
      PartedLists found;
      size_t lists = 0;
      for (const auto& [begin, values] : calls) {
        PartedLists own;
        for (const TensorId value : values) {
          if (passed[value] == 1) own.emplace(begin, value);
        }
        if (own.size() < 2) continue;
        found.merge(own);
        ++lists;
      }
      if (lists > 1) parts.merge(found);
    }
    return parts;
  }

  // What names held, where the code's statements tell of them, or its loops.
  void hold_names() {
    for (const auto* until : {&names_.until(), &turns_}) {
      for (TensorId value = 0; value < until->size(); ++value) {
        if ((*until)[value] != kNoNode) hold(value, (*until)[value]);
      }
    }
  }

 private:
  // By a name of `maker`'s code, or of a function inside the statement that `reader` is in too.
  void keep(Call& maker, TensorId in, NodeId reader) {
    const NodeId end = names_.end_of_statement(in, reader);
    if (end != kNoNode) hold(in, end);
    if (end == kNoNode) maker.held.push_back(in);
  }

  bool is_part(const FirstReader& reader, TensorId value) const {
    return reader.is_call && parted_.contains({reader.begin, value});
  }

  // Did other kernels run in between? The terms of one expression are made together:
  // `self.norm(x) * (1 + scale)`.
  bool waits_for(NodeId reader, NodeId producer) const {
    if (kernels_[reader] == kernels_[producer + 1]) return false;
    for (NodeId id = producer + 1; id < reader; ++id) {
      if (kernels_[id + 1] > kernels_[id] && !is_term(id, reader)) return true;
    }
    return false;
  }

  bool is_term(NodeId id, NodeId reader) const {
    const Node& node = graph_.nodes[id];
    return is_arithmetic(node) && last_reader_[node.outputs[0]] <= reader;
  }

  // Is the node a sum that ends a branch around `in`, which nobody reads later?
  bool joins_branch(NodeId sum, TensorId in, TensorId branch) const {
    const Node& node = graph_.nodes[sum];
    if (!is_sum(node) || branch == kNoTensor) return false;
    const NodeId made = graph_.tensors[branch].producer;
    return made != kNoNode && first_reader_[in].begin <= made && last_reader_[in] == sum &&
           graph_.tensors[node.outputs[0]].shape == graph_.tensors[in].shape;
  }

  // What such a sum makes has the name of what it began with in `x = x + self.mlp(x)`, where calls
  // alone made the branch: code in between has another name for that.
  bool takes_over(NodeId sum, TensorId in, const Call& maker) const {
    const auto& inputs = graph_.nodes[sum].inputs;
    if (inputs.back() == in || !joins_branch(sum, in, inputs.back())) return false;
    for (NodeId id = first_reader_[in].begin; id < sum;) {
      const auto* call = returned_by(maker, id);
      if (!call) return false;
      id = call->second;
    }
    return true;
  }

  // The first of a list of modules, each of which is given what the one before made of it, under
  // one name: `x = block(x)`.
  static bool begins_loop(const Call& call) { return last_part(call.name) == "0"; }

  // The call that `maker`'s code made and that returned what `producer` made: its first node, and
  // the node after its last. Null where the code made it itself.
  static const std::pair<NodeId, NodeId>* returned_by(const Call& maker, NodeId producer) {
    const auto call = std::upper_bound(maker.made.begin(), maker.made.end(), producer,
                                       [](NodeId id, const auto& one) { return id < one.second; });
    return call != maker.made.end() && call->first <= producer ? &*call : nullptr;
  }

  // Has its result a name that no other takes over: of an object (`outputs = self.model(...)`,
  // `decoder_outputs`), or of embeddings.
  bool is_named(const std::pair<NodeId, NodeId>& call, const Call& maker) const {
    const std::string_view own = name_of(call, maker);
    const bool looks = lookups_[call.second] > lookups_[call.first];
    return is_base(call) || has_role(own, NameRole::kEmbeddings) ||
           (has_role(own, NameRole::kDecoder) && looks);
  }

  bool is_encoder(const std::pair<NodeId, NodeId>& call, const Call& maker) const {
    return has_role(name_of(call, maker), NameRole::kEncoder);
  }
  bool is_decoder(const Call& call, NodeId now) const {
    return has_role(call.name, NameRole::kDecoder) && lookups_[now] > lookups_[call.begin];
  }

  // The module's own name, of a call that `maker`'s code made.
  std::string_view name_of(const std::pair<NodeId, NodeId>& call, const Call& maker) const {
    const auto calls = calls_around(graph_.nodes[call.first]);
    const auto depth = static_cast<size_t>(&maker - open_.data());
    return depth < calls.size() ? last_part(calls[depth]) : std::string_view();
  }

  // Is it the network that a head is put on, which reads the model's inputs and runs most of it?
  bool is_base(const std::pair<NodeId, NodeId>& call) const {
    const size_t before = kernels_[call.first], inside = kernels_[call.second] - before;
    return before <= kFirstKernels && 2 * inside > kernels_.back();
  }

  // What is joined was put into one list, operand by operand, by the same code: if one waits for
  // the others there, the last one is in it too.
  bool has_waiting_twin(NodeId id, TensorId in) const {
    const Node& node = graph_.nodes[id];
    if (!has(node, OpRow::kConcatenates)) return false;
    const std::string& op = graph_.nodes[graph_.tensors[in].producer].op;
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId other) {
      const NodeId maker = other == kNoTensor ? kNoNode : graph_.tensors[other].producer;
      return maker != kNoNode && graph_.nodes[maker].op == op && waits_for(id, maker);
    });
  }

  // A call that joins what it was given has a name for it: `concated_features` of DenseNet's
  // layers. What it made itself it joins where it passes it on (Segformer's head), and the name
  // that a loop joins under is another's with each turn (the decoders of diffusion's U-Nets).
  bool joins(NodeId producer, std::vector<Call>::const_iterator maker) const {
    const Node& node = graph_.nodes[producer];
    const auto depth = static_cast<size_t>(maker - open_.begin());
    return has(node, OpRow::kConcatenates) && calls_around(node).size() == depth &&
           joins_in_.at(call_path(node)) == 1 &&
           std::none_of(node.inputs.begin(), node.inputs.end(), [&](TensorId in) {
             const NodeId made = in == kNoTensor ? kNoNode : graph_.tensors[in].producer;
             return made != kNoNode && made >= maker->begin;
           });
  }

  // What may run before the first module: a cast, a mask.
  static constexpr size_t kFirstKernels = 2;

  const Graph& graph_;
  const HeldNames& names_;
  const std::vector<NodeId> turns_;  // retained_by_turns(), of what no statement tells
  const PartedLists& parted_;
  std::vector<NodeId>& last_;
  std::vector<FirstReader> first_reader_;
  std::vector<NodeId> last_reader_;
  std::map<std::string_view, size_t> joins_in_;
  std::map<NodeId, std::map<NodeId, std::set<TensorId>>> passed_on_;  // by whom, to which call
  std::vector<size_t> kernels_, lookups_;                             // before each node
  std::vector<Call> open_{Call{{}, 0, {}}};  // the first is the model itself
};

}  // namespace

std::vector<std::vector<TensorId>> last_uses(const Graph& graph, std::span<const TensorId> returned,
                                             bool names_hold) {
  const HeldNames names(graph);
  std::vector<NodeId> last(graph.tensors.size(), kNoNode);
  const auto run = [&](const PartedLists& parted) {
    Calls calls(graph, names, parted, last);
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      check_cancelled();
      calls.enter(id);
      for (const TensorId in : graph.nodes[id].inputs) {
        if (in == kNoTensor) continue;
        calls.hold(in, id);
        if (names_hold && !has(graph.nodes[id], OpRow::kShapeOf)) calls.read(id, in);
      }
      if (names_hold) calls.make(graph.nodes[id]);
    }
    calls.leave(0, static_cast<NodeId>(graph.nodes.size()));
    if (names_hold) calls.hold_names();
    return calls.parted_lists();
  };
  if (const PartedLists parted = run({}); !parted.empty()) {
    std::fill(last.begin(), last.end(), kNoNode);
    run(parted);
  }
  std::vector<std::vector<TensorId>> uses(graph.nodes.size());
  for (const TensorId out : returned) last[out] = kNoNode;
  for (TensorId id = 0; id < last.size(); ++id) {
    if (last[id] != kNoNode && graph.tensors[id].kind == TensorKind::kValue) {
      uses[last[id]].push_back(id);
    }
  }
  return uses;
}

}  // namespace plimsoll
