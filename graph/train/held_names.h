// How long names in the user's own code held values, as the statements beside nodes tell
// (NodeNotes::statements).
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll {

// A call of forward() has statements; what one of them computes and another one reads has the name
// that the first assigned, until that name is assigned again or the call returns. What is read by
// the statement that made it has none. Cost: linear in nodes times the depth of calls.
class HeldNames {
 public:
  explicit HeldNames(const Graph& graph);

  // Is it known how `in` was held for this reader? It is where both are in one call, in two of its
  // statements.
  bool tell(TensorId in, NodeId reader) const { return meet(in, reader).apart(); }

  // For each value the last node at which a name held it, or kNoNode.
  const std::vector<NodeId>& until() const { return until_; }

  // The last node of the statement that both made and reads `in`; kNoNode where it is not one.
  NodeId end_of_statement(TensorId in, NodeId reader) const;

  // The first node of the innermost statement that a node is in; the node itself where none is
  // told.
  NodeId begin_of_statement(NodeId node) const {
    if (call_of_[node] == kNone) return node;
    const Call& call = calls_[call_of_[node]];
    return call.runs[call.run_of(node)].first;
  }

 private:
  // Nodes that ran one after the other for one line of a call.
  struct Run {
    std::string_view line;
    std::vector<std::string_view> names;
    bool goes_on = false;  // its statement has more lines
    NodeId first, last;
  };
  struct Call {
    std::string_view file;
    size_t caller;  // kNone: nobody's
    size_t depth;
    NodeId first, last;
    std::vector<Run> runs;
    std::map<std::string_view, std::vector<size_t>> assigned;  // the runs that assign a name

    // The run that one of its nodes is in.
    size_t run_of(NodeId node) const {
      const auto after = std::upper_bound(runs.begin(), runs.end(), node,
                                          [](NodeId id, const Run& run) { return id < run.first; });
      return static_cast<size_t>(after - runs.begin()) - 1;
    }
  };
  // The innermost call that two nodes are both in, and their runs there.
  struct Meeting {
    const Call* call = nullptr;
    size_t made = 0, read = 0;
    bool apart() const { return call && call->runs[made].line != call->runs[read].line; }
  };
  static constexpr size_t kNone = static_cast<size_t>(-1);

  void enter(NodeId id, const Node& node);
  Meeting meet(TensorId in, NodeId reader) const;
  size_t inner_call(TensorId value, size_t call) const;
  NodeId end_of(const Call& call, size_t run) const;
  void find_ends();
  std::vector<NodeId> ends_of_names(const Call& call, size_t run, size_t values) const;
  void hold_rest(size_t call, NodeId end, const std::vector<size_t>& uses);

  const Graph& graph_;
  std::vector<Call> calls_;
  std::vector<size_t> call_of_;  // of each node, its innermost
  std::vector<size_t> open_;     // while the nodes are read
  std::vector<std::string_view> scopes_;
  std::vector<NodeId> until_;
};

}  // namespace plimsoll
