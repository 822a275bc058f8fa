#include "graph/train/loop_turns.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "graph/train/module_calls.h"

namespace plimsoll {
namespace {

// A loop's turns follow one another, each `length` nodes long.
struct Loop {
  NodeId first = 0;
  size_t length = 0, turns = 0;
  NodeId end() const { return first + static_cast<NodeId>(length * turns); }
  bool covers(NodeId id) const { return id >= first && id < end(); }
  size_t turn_of(NodeId id) const { return (id - first) / length; }
};

class TurnSearch {
 public:
  explicit TurnSearch(const Graph& graph)
      : graph_(graph), readers_(graph), until_(graph.tensors.size(), kNoNode) {}

  std::vector<NodeId> run() {
    std::map<NodeId, std::vector<NodeId>> repeated;  // by the first node that reads a weight
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      const Tensor& t = graph_.tensors[id];
      // A matrix or a filter: layers of one kind share numbers of their code, too.
      if (t.kind != TensorKind::kParameter || !is_float(t.dtype)) continue;
      if (!t.shape || t.shape->size() < 2) continue;
      const auto readers = readers_[id];
      if (readers.size() > 1) repeated.try_emplace(readers.front(), readers.begin(), readers.end());
    }
    NodeId tried = 0;  // nodes before it have been looked at
    for (const auto& [first, nodes] : repeated) {
      if (first < tried) continue;
      const Loop loop = loop_of(nodes);
      if (loop.turns < 2) continue;
      hold(loop);
      tried = loop.end();
    }
    return std::move(until_);
  }

 private:
  bool same(NodeId a, NodeId b) const {
    const Node &one = graph_.nodes[a], &other = graph_.nodes[b];
    return one.op == other.op && one.domain == other.domain &&
           one.outputs.size() == other.outputs.size();
  }

  // Where a weight is read at one distance again and again, and so are the operators around it. A
  // turn begins as far before the weight as its first turn resembles the second.
  Loop loop_of(const std::vector<NodeId>& nodes) const {
    const size_t length = nodes[1] - nodes[0];
    if (length < 2) return {};
    for (size_t i = 1; i < nodes.size(); ++i) {
      if (nodes[i] - nodes[i - 1] != length) return {};
    }
    size_t before = 0;
    while (before + 1 < length && before < nodes[0] &&
           same(nodes[0] - static_cast<NodeId>(before) - 1,
                nodes[1] - static_cast<NodeId>(before) - 1))
      ++before;
    Loop loop{nodes[0] - static_cast<NodeId>(before), length, nodes.size()};
    if (loop.end() > graph_.nodes.size()) return {};
    for (NodeId id = loop.first; id + length < loop.end(); ++id) {
      if (!same(id, id + static_cast<NodeId>(length))) return {};
    }
    return loop;
  }

  // The modules whose code the loop is.
  std::vector<std::string_view> calls_of(const Loop& loop) const {
    auto common = calls_around(graph_.nodes[loop.first]);
    for (NodeId id = loop.first; id < loop.end(); ++id) {
      const auto calls = calls_around(graph_.nodes[id]);
      const auto [end, other] = std::ranges::mismatch(common, calls);
      common.erase(end, common.end());
    }
    return common;
  }

  NodeId end_of_code(const Loop& loop, const std::vector<std::string_view>& calls) const {
    NodeId last = loop.end() - 1;
    while (last + 1 < graph_.nodes.size()) {
      const auto now = calls_around(graph_.nodes[last + 1]);
      if (now.size() < calls.size() || !std::equal(calls.begin(), calls.end(), now.begin())) break;
      ++last;
    }
    return last;
  }

  // Is what comes of this place of a turn read in the next one, after any turn?
  bool is_carried(const Loop& loop, size_t place, size_t output) const {
    for (size_t turn = 0; turn + 1 < loop.turns; ++turn) {
      const NodeId maker = loop.first + static_cast<NodeId>(turn * loop.length + place);
      const TensorId value = graph_.nodes[maker].outputs[output];
      if (value == kNoTensor) continue;
      const bool later = std::ranges::any_of(readers_[value], [&](NodeId reader) {
        return loop.covers(reader) && loop.turn_of(reader) == turn + 1;
      });
      if (later) return true;
    }
    return false;
  }

  void hold(const Loop& loop) {
    const auto calls = calls_of(loop);
    const NodeId end = end_of_code(loop, calls);
    std::vector<size_t> carried, parted;  // places in a turn
    for (size_t place = 0; place < loop.length; ++place) {
      const NodeId maker = loop.first + static_cast<NodeId>(place);
      const auto& outputs = graph_.nodes[maker].outputs;
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (!is_carried(loop, place, i)) continue;
        carried.push_back(place);
        break;
      }
      if (outputs.size() > 1 && calls_around(graph_.nodes[maker]) == calls) parted.push_back(place);
    }
    if (carried.empty()) return;  // one module, called for several inputs
    for (const auto* places : {&carried, &parted}) {
      for (const size_t place : *places) hold_in_all(loop, place, end);
    }
  }

  void hold_in_all(const Loop& loop, size_t place, NodeId end) {
    for (size_t turn = 0; turn < loop.turns; ++turn) {
      const NodeId maker = loop.first + static_cast<NodeId>(turn * loop.length + place);
      const NodeId next = maker + static_cast<NodeId>(loop.length);
      for (const TensorId value : graph_.nodes[maker].outputs) {
        if (value == kNoTensor || readers_[value].empty()) continue;
        const NodeId last = readers_[value].back();
        if (turn + 1 < loop.turns)
          until_[value] = next;
        else if (last < loop.end())
          until_[value] = end;
      }
    }
  }

  const Graph& graph_;
  const Consumers readers_;
  std::vector<NodeId> until_;
};

}  // namespace

std::vector<NodeId> retained_by_turns(const Graph& graph) { return TurnSearch(graph).run(); }

}  // namespace plimsoll
