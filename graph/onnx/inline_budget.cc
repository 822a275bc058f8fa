#include "graph/onnx/inline_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/base/checked.h"
#include "graph/base/escape.h"
#include "graph/base/try.h"

namespace plimsoll::onnx {
namespace {

std::string key_of(std::string_view domain, std::string_view name, std::string_view overload) {
  std::string key;
  key.reserve(domain.size() + name.size() + overload.size() + 2);
  key.append(domain).append(1, '\0').append(name).append(1, '\0').append(overload);
  return key;
}

int64_t saturating_add(int64_t a, int64_t b) {
  return checked_add(a, b).value_or(std::numeric_limits<int64_t>::max());
}

// Depth-first over graphs, on a stack of its own.
class Counter {
 public:
  Counter(const ModelSpec& model, const Functions& functions)
      : model_(model),
        functions_(functions),
        counts_(model.graphs.size(), 0),
        states_(model.graphs.size(), State::kNew) {}

  Result<std::vector<int64_t>> run() {
    enter(0, nullptr);
    while (!stack_.empty()) {
      TRY(step());
    }
    return std::move(counts_);
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };
  struct Visit {
    GraphIndex graph = 0;
    const FunctionSpec* function = nullptr;
    size_t node = 0, child = 0;
    int64_t count = 0;
  };

  // Writing a graph out again costs its weights and, a little, its inputs and outputs.
  static int64_t plumbing(const GraphSpec& graph) {
    constexpr size_t kValuesPerNode = 8;
    return static_cast<int64_t>(graph.initializers.size() +
                                (graph.inputs.size() + graph.outputs.size()) / kValuesPerNode);
  }

  void enter(GraphIndex graph, const FunctionSpec* function) {
    states_[graph] = State::kOpen;
    Visit visit;
    visit.graph = graph;
    visit.function = function;
    visit.count = graph == 0 ? 0 : plumbing(model_.graphs[graph]);
    stack_.push_back(visit);
  }

  // The child-th graph a node leads to: its function's body, then its subgraphs.
  bool child_of(const NodeSpec& node, size_t child, GraphIndex& graph,
                const FunctionSpec*& function) const {
    function = functions_.called_by(node);
    if (function) {
      graph = function->body;
      return child == 0;
    }
    if (!node.extras || child >= node.extras->graphs.size()) return false;
    graph = node.extras->graphs[child].second;
    return true;
  }

  Result<void> step() {
    Visit& visit = stack_.back();
    const auto& nodes = model_.graphs[visit.graph].nodes;
    if (visit.node == nodes.size()) {
      counts_[visit.graph] = visit.count;
      states_[visit.graph] = State::kDone;
      stack_.pop_back();
      return {};
    }
    GraphIndex graph = 0;
    const FunctionSpec* function = nullptr;
    if (!child_of(nodes[visit.node], visit.child, graph, function)) {
      if (visit.child == 0) visit.count = saturating_add(visit.count, 1);
      ++visit.node;
      visit.child = 0;
      return {};
    }
    switch (states_[graph]) {
      case State::kNew:
        enter(graph, function);
        return {};
      case State::kOpen:
        return error("E224", "functions call each other in a circle: " + circle(function));
      case State::kDone:
        visit.count = saturating_add(visit.count, counts_[graph]);
        ++visit.child;
        return {};
    }
    return {};
  }

  std::string circle(const FunctionSpec* called) const {
    std::string text;
    bool inside = false;
    for (const Visit& visit : stack_) {
      inside |= visit.function == called;
      if (inside && visit.function) text += shortened(visit.function->name) + " -> ";
    }
    return text + (called ? shortened(called->name) : "");
  }

  const ModelSpec& model_;
  const Functions& functions_;
  std::vector<int64_t> counts_;
  std::vector<State> states_;
  std::vector<Visit> stack_;
};

}  // namespace

Functions::Functions(const ModelSpec& model) {
  for (const FunctionSpec& f : model.functions) {
    by_key_.emplace(key_of(f.domain, f.name, f.overload), &f);
  }
}

const FunctionSpec* Functions::called_by(const NodeSpec& node) const {
  if (by_key_.empty()) return nullptr;
  const auto found = by_key_.find(
      key_of(node.domain, node.op, node.extras ? node.extras->overload : std::string_view()));
  return found == by_key_.end() ? nullptr : found->second;
}

Result<std::vector<int64_t>> count_expanded(const ModelSpec& model, const Functions& functions) {
  return Counter(model, functions).run();
}

}  // namespace plimsoll::onnx
