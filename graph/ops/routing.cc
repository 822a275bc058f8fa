#include "graph/ops/routing.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "graph/base/among.h"

namespace plimsoll::ops {
namespace {

constexpr size_t kLongestChain = 24;

bool passes(std::string_view op) {
  static constexpr std::array<std::string_view, 9> kOps = {"Cast",    "Transpose", "Reshape",
                                                           "Squeeze", "Unsqueeze", "Identity",
                                                           "Slice",   "Gather",    "Greater"};
  return among(op, kOps);
}

bool chooses(const Node& node) { return node.op == "TopK" || node.op == "ArgMax"; }

// What lies between a choice of experts and the question who was chosen.
struct Chain {
  NodeId choice = kNoNode;  // TopK or ArgMax
  NodeId sliced = kNoNode;  // the Gather that looks at one expert
  bool per_expert = false;  // each element is about one expert: a OneHot, an Equal
  bool counted = false;     // summed over tokens
};

Chain chain_behind(const Graph& graph, TensorId tensor) {
  Chain chain;
  for (size_t length = 0; length < kLongestChain; ++length) {
    const NodeId id = graph.tensors[tensor].producer;
    if (id == kNoNode) return chain;
    const Node& node = graph.nodes[id];
    if (chooses(node)) {
      chain.choice = id;
      return chain;
    }
    if (node.op == "OneHot" || node.op == "Equal") {
      chain.per_expert = true;
    } else if (node.op == "ReduceSum") {
      chain.counted = true;
    } else if (!passes(node.op)) {
      return chain;
    }
    if (node.op == "Gather") chain.sliced = id;
    tensor = node.inputs[0];
  }
  return chain;
}

// Is this the first slice of the mask that somebody takes?
bool is_first(const Graph& graph, NodeId slice) {
  if (slice == kNoNode) return false;
  const TensorId mask = graph.nodes[slice].inputs[0];
  const NodeId begin = graph.tensors[mask].producer;
  for (NodeId id = slice; id-- > begin;) {
    const Node& node = graph.nodes[id];
    if (node.op == "Gather" && node.inputs[0] == mask) return false;
  }
  return true;
}

}  // namespace

bool may_route_tokens(const Graph& graph) {
  const auto asks = [](const Node& node) { return node.op == "NonZero"; };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), chooses) &&
         std::any_of(graph.nodes.begin(), graph.nodes.end(), asks);
}

std::optional<Dim> tokens_routed(InferContext& c) {
  const Graph& graph = c.graph();
  const Chain chain = chain_behind(graph, c.node().inputs[0]);
  if (chain.choice == kNoNode || !chain.per_expert) return std::nullopt;
  const Node& choice = graph.nodes[chain.choice];
  const auto& scores = graph.tensors[choice.inputs[0]].shape;
  const auto axis =
      scores ? normalize_axis(choice.attributes.integer("axis", choice.op == "TopK" ? -1 : 0),
                              scores->size())
             : std::nullopt;
  const auto experts = axis ? (*scores)[*axis].constant() : std::nullopt;
  if (!experts || *experts < 2) return std::nullopt;
  if (chain.counted) return min(Dim(*experts), elements(c.shape(0)));
  const Dim choices = elements(c.shape(0));
  // An expert is at most once among a token's k.
  const Dim tokens = floor_div(elements(*scores), Dim(*experts));
  const Dim busiest = min(tokens, ceil_div(choices * Dim::symbol(kBusiestExpert), Dim(*experts)));
  if (is_first(graph, chain.sliced)) return busiest;
  return ceil_div(choices - busiest, Dim(*experts - 1));
}

}  // namespace plimsoll::ops
