#include "graph/parallel/context_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/ops/op_row.h"
#include "graph/symbol/substitute.h"

namespace plimsoll::parallel {
namespace {

constexpr size_t kMask = 3, kAlibi = 5;

std::vector<const Node*> attention_of(const Graph& graph) {
  std::vector<const Node*> found;
  for (const Node& node : graph.nodes) {
    if (has(node, OpRow::kAttends)) found.push_back(&node);
  }
  return found;
}

// Of an operand as [batch, heads, sequence, size]; empty where it is none of these.
Shape operand(const Graph& graph, const Node& node, size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kNoTensor) return {};
  const auto& shape = graph.tensors[node.inputs[input]].shape;
  return shape && shape->size() == 4 ? *shape : Shape();
}

std::string symbol_of(const Dim& length) {
  std::set<std::string> symbols;
  length.collect_symbols(symbols);
  const bool only = symbols.size() == 1 && length == Dim::symbol(*symbols.begin());
  return only ? *symbols.begin() : "";
}

tl::unexpected<Diagnostics> refused(int64_t ranks, const std::string& why,
                                    const std::string& help) {
  return error("E120", setting("cp", std::to_string(ranks)) + ": " + why, {}, help);
}

// Of fewer ranks the most that `works` says yes to.
std::string nearest(int64_t ranks, const std::function<bool(int64_t)>& works) {
  while (--ranks > 1) {
    if (works(ranks)) return "nearest that works: " + setting("cp", std::to_string(ranks));
  }
  return "leave " + setting("cp") + " out";
}

bool sees_by_mask(const Node& node, const Dim& length, Decider& decider) {
  for (const size_t input : {kMask, kAlibi}) {
    if (input < node.inputs.size() && node.inputs[input] != kNoTensor) return true;
  }
  const int64_t window = node.attributes.integer("window", 0);
  return window > 0 && !decider.at_most(length, Dim(window));
}

bool is_causal(const Node& node) {
  return node.attributes.integer("causal", node.attributes.integer("is_causal", 0)) != 0;
}

Result<void> check_heads(const Graph& graph, const Node& node, const Recipe& recipe,
                         Decider& decider) {
  const int64_t ranks = recipe.parallel.mesh.extent(Axis::kContext);
  const Dim split(recipe.parallel.mesh.extent(Axis::kTensor));
  for (const size_t input : {size_t{0}, size_t{1}}) {
    const Dim heads = floor_div(operand(graph, node, input)[1], split);
    const auto divides = [&](int64_t n) {
      return decider.equal(floor_div(heads, n) * Dim(n), heads);
    };
    if (divides(ranks)) continue;
    return refused(
        ranks, fmt::format("the number of GPUs does not divide {} attention heads", heads.text()),
        nearest(ranks, divides) + ", or another " + setting("cp-kind"));
  }
  return {};
}

}  // namespace

std::string sequence_symbol(const Graph& graph) {
  std::string symbol;
  for (const Node* node : attention_of(graph)) {
    for (const size_t input : {size_t{0}, size_t{1}}) {
      const Shape shape = operand(graph, *node, input);
      const std::string here = shape.empty() ? "" : symbol_of(shape[2]);
      if (here.empty() || (!symbol.empty() && here != symbol)) return "";
      symbol = here;
    }
  }
  return symbol;
}

Graph with_context(Graph graph, const std::string& symbol, int64_t ranks) {
  const Dim part = floor_div(Dim::symbol(symbol), ranks);
  for (Tensor& tensor : graph.tensors) {
    if (tensor.kind == TensorKind::kParameter) continue;
    if (tensor.shape) tensor.shape = substitute(std::move(*tensor.shape), symbol, part);
    for (Dim& extent : tensor.dims) extent = substitute(extent, symbol, part);
  }
  return graph;
}

Result<void> check_context(const Graph& graph, const Recipe& recipe, const Policy& policy,
                           Decider& decider) {
  const int64_t ranks = recipe.parallel.mesh.extent(Axis::kContext);
  if (ranks == 1) return {};
  const std::string symbol = sequence_symbol(graph);
  if (symbol.empty()) {
    return refused(ranks, "the model has no attention over sequences whose length is a dimension",
                   "context parallelism splits the sequences of a decoder or an encoder, such as "
                   "hf:meta-llama/Llama-3.1-8B");
  }
  const AttentionCode code = policy.attention.code;
  if (code == AttentionCode::kEager || code == AttentionCode::kMaskedSoftmax) {
    return refused(ranks, "attention in separate operators does not see keys of other ranks",
                   "give " + setting("attention", "fused"));
  }
  const Dim length = Dim::symbol(symbol);
  int64_t parts = 1;
  for (const Node* node : attention_of(graph)) {
    if (sees_by_mask(*node, length, decider)) {
      return refused(ranks, "a mask or a window limits what attention sees",
                     "leave " + setting("cp") + " out");
    }
    if (is_causal(*node)) parts = 2;
    if (recipe.parallel.context_by == ContextBy::kUlysses)
      TRY(check_heads(graph, *node, recipe, decider));
  }
  const auto divides = [&](int64_t n) {
    return decider.equal(floor_div(length, n * parts) * Dim(n * parts), length);
  };
  if (divides(ranks)) return {};
  return refused(ranks,
                 fmt::format("{} positions do not divide into {} parts",
                             length.evaluate(decider.hints()).value_or(0), ranks * parts),
                 nearest(ranks, divides));
}

}  // namespace plimsoll::parallel
