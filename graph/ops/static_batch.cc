#include "graph/ops/static_batch.h"

#include <algorithm>
#include <span>

namespace plimsoll::ops {
namespace {

bool has_static_batch(InferContext& c) { return c.graph().baked_batch > 0; }
Dim static_batch_of(InferContext& c) { return {c.graph().baked_batch}; }

// What an extent that carries the batch was in the file.
std::optional<int64_t> was(InferContext& c, const Dim& d) {
  const auto value = d.evaluate({{c.graph().batch_symbol, c.graph().baked_batch}});
  return value ? std::optional(*value) : std::nullopt;
}

// d / b0 * batch for a constant that b0 divides.
std::optional<Dim> scaled(InferContext& c, const Dim& d) {
  const auto value = d.constant();
  if (!value || *value <= 0 || *value % c.graph().baked_batch != 0) return std::nullopt;
  return Dim(*value / c.graph().baked_batch) * Dim::symbol(c.graph().batch_symbol);
}

int64_t count_ones(std::span<const Dim> extents) { return std::ranges::count(extents, Dim(1)); }

// Of from[at], which holds the batch and more, and the target's extents that it is cut into from
// `begin` on: the batch's own where one has its size, else the first that b0 divides. (A sequence
// of 24 before a batch of 4, from 96: both are multiples of 4.) One long, it is an extent more of
// one.
size_t place_in_parts(InferContext& c, const Shape& from, size_t at, const std::vector<Dim>& target,
                      size_t begin) {
  const int64_t b0 = c.graph().baked_batch;
  const bool vanished = b0 == 1 && count_ones(std::span(target).subspan(begin)) <=
                                       count_ones(std::span(from).subspan(at));
  int64_t left = was(c, from[at]).value_or(1);
  for (size_t i = begin; i < target.size() && (left > 1 || b0 == 1) && !vanished; ++i) {
    const int64_t part = target[i].constant().value_or(0);
    if (part <= 0 || left % part != 0) break;
    if (part == b0) return i;
    left /= part;
  }
  // Joined to what is before it, where all that is behind it is one extent: features.
  return vanished && begin > 0 && begin + 1 == target.size() ? begin - 1 : begin;
}

// A reshape keeps the order of elements, so the batch stays where as many elements lie before it.
std::optional<size_t> place_of_batch(InferContext& c, const Shape& from,
                                     const std::vector<Dim>& target) {
  size_t at = 0;
  while (at < from.size() && !carries_batch(c, from[at])) ++at;
  const Dim before = elements(from, 0, std::min(at, from.size()));
  Dim passed = 1;
  for (size_t i = 0; i < target.size(); ++i) {
    if (passed == before && target[i] == Dim(-1)) return i;
    if (passed == before && scaled(c, target[i])) return place_in_parts(c, from, at, target, i);
    if (target[i] == Dim(-1)) break;
    passed *= target[i];
  }
  for (size_t i = 0; i < target.size(); ++i) {
    if (scaled(c, target[i])) return i;
  }
  return std::nullopt;
}

}  // namespace

bool carries_batch(InferContext& c, const Dim& d) {
  if (!has_static_batch(c) || d.is_constant()) return false;
  std::set<std::string> names;
  d.collect_symbols(names);
  return names.count(c.graph().batch_symbol) > 0;
}

std::vector<Dim> stretch_target(InferContext& c, const Shape& from, std::vector<Dim> target) {
  const auto carries = [&](const Dim& d) { return carries_batch(c, d); };
  if (!has_static_batch(c) || std::none_of(from.begin(), from.end(), carries) ||
      std::any_of(target.begin(), target.end(), carries)) {
    return target;
  }
  const auto at = place_of_batch(c, from, target);
  if (at && !(target[*at] == Dim(-1))) target[*at] = *scaled(c, target[*at]);
  return target;
}

bool was_batch(InferContext& c, const Dim& constant, const Dim& extent) {
  return carries_batch(c, extent) && constant.constant() && constant.constant() == was(c, extent);
}

std::pair<Shape, Shape> rebatch_operands(InferContext& c, const Shape& a, const Shape& b) {
  std::pair<Shape, Shape> out{a, b};
  if (!has_static_batch(c)) return out;
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    Dim& x = out.first[a.size() - i];
    Dim& y = out.second[b.size() - i];
    if (was_batch(c, x, y)) x = y;
    if (was_batch(c, y, x)) y = x;
  }
  return out;
}

bool is_of_shape(const Graph& graph, TensorId extents) {
  constexpr size_t kMostTensors = 32;
  std::vector<TensorId> open = {extents};
  for (size_t i = 0; i < open.size() && i < kMostTensors; ++i) {
    const NodeId maker = open[i] == kNoTensor ? kNoNode : graph.tensors[open[i]].producer;
    if (maker == kNoNode) continue;
    const Node& node = graph.nodes[maker];
    if (node.op == "Shape") return true;
    if (node.op == "Where") continue;  // x.expand() puts ones in place of what is to stay
    const size_t most = node.op == "Concat" ? 1 : kMostTensors;
    const auto count = static_cast<ptrdiff_t>(std::min(node.inputs.size(), most));
    open.insert(open.end(), node.inputs.begin(), node.inputs.begin() + count);
  }
  return false;
}

void rebatch_expanded(InferContext& c, std::vector<Dim>& extents) {
  const Shape& from = c.shape(0);
  const bool is_data = is_float(c.dtype(0)) && from.size() > 1 && from.size() == extents.size();
  bool same = c.graph().baked_batch == 1 && is_data && from.front() == Dim(1);
  for (size_t i = 0; i < from.size() && same; ++i)
    same = extents[i] == Dim(1) || extents[i] == from[i];
  if (same) extents.front() = Dim::symbol(c.graph().batch_symbol);
  rebatch_leading(c, extents);
}

void rebatch_leading(InferContext& c, std::vector<Dim>& extents) {
  if (!has_static_batch(c) || c.graph().baked_batch == 1 || extents.empty()) return;
  if (extents.front() == static_batch_of(c)) extents.front() = Dim::symbol(c.graph().batch_symbol);
}

}  // namespace plimsoll::ops
