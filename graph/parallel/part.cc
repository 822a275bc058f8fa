#include "graph/parallel/part.h"

#include <algorithm>
#include <vector>

#include "graph/ops/op_row.h"

namespace plimsoll::parallel {
namespace {

std::optional<Part> transposed(const Node& node, const Part& part) {
  const auto* perm = node.attributes.get<std::vector<int64_t>>("perm");
  if (!perm) return std::nullopt;
  const auto at = std::ranges::find(*perm, static_cast<int64_t>(part.dimension));
  if (at == perm->end()) return std::nullopt;
  return Part{static_cast<size_t>(at - perm->begin()), part.pieces};
}

// Attention of [N,heads,S,D], and gated delta rules of [N,S,heads,D], are of each head alone.
bool is_of_heads(const Node& node, const Shape& sizes, size_t dimension) {
  constexpr size_t kHeadsApart = 4;
  if (has(node, OpRow::kOverTime)) return sizes.size() == kHeadsApart && dimension == 2;
  if (has(node, OpRow::kAttends)) return sizes.size() != kHeadsApart || dimension == 1;
  return true;
}

// Channels of which each has a filter of its own.
bool is_by_channels(const Graph& graph, const Node& node, size_t dimension) {
  const auto& filters = graph.tensors[node.inputs[1]].shape;
  return filters && dimension == 1 && (*filters)[1] == Dim(1) &&
         (*filters)[0] == Dim(node.attributes.integer("group", 1));
}

}  // namespace

bool divides(const Shape& sizes, const Part& part, int64_t ranks) {
  const auto piece = divide_exactly(sizes[part.dimension], part.pieces);
  const auto extent = piece ? piece->constant() : std::nullopt;
  return extent && *extent % ranks == 0;
}

std::optional<Part> part_in_order(const Shape& from, const Shape& to, const Part& part,
                                  int64_t ranks) {
  Dim before = part.pieces;
  for (size_t i = 0; i < part.dimension; ++i) before *= from[i];
  Dim here = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    const auto pieces = divide_exactly(before, here);
    const auto extent = pieces ? divide_exactly(to[i], *pieces) : std::nullopt;
    if (extent && !(*extent == Dim(1))) {
      const Part shown{i, *pieces};
      if (divides(to, shown, ranks)) return shown;
      before *= *extent;
    }
    here *= to[i];
  }
  return std::nullopt;
}

std::optional<Part> part_before(const Graph& graph, const Node& view, const Part& part,
                                int64_t ranks) {
  const Shape& shown = *graph.tensors[view.outputs[0]].shape;
  if (has(view, OpRow::kInOrder))
    return part_in_order(shown, *graph.tensors[view.inputs[0]].shape, part, ranks);
  const auto* perm = view.attributes.get<std::vector<int64_t>>("perm");
  if (!perm || perm->size() <= part.dimension) return std::nullopt;
  return Part{static_cast<size_t>((*perm)[part.dimension]), part.pieces};
}

std::optional<Part> part_after(const Graph& graph, const Node& node, TensorId in, const Part& part,
                               int64_t ranks) {
  const Shape& from = *graph.tensors[in].shape;
  const Shape& to = *graph.tensors[node.outputs[0]].shape;
  if (has(node, OpRow::kView)) {
    return has(node, OpRow::kInOrder) ? part_in_order(from, to, part, ranks)
                                      : transposed(node, part);
  }
  if (const int64_t axis = node.attributes.integer("axis", 0);
      has(node, OpRow::kPicksByIndex) && static_cast<int64_t>(part.dimension) < axis)
    return part;
  const size_t following = from.size() - part.dimension - 1;
  if (has(node, OpRow::kNorm) && following == 0) return std::nullopt;
  if (has(node, OpRow::kDense) && following <= 1) return std::nullopt;
  if (!is_of_heads(node, from, part.dimension) || from.size() > to.size()) return std::nullopt;
  if (has(node, OpRow::kConvolutional) && !is_by_channels(graph, node, part.dimension))
    return std::nullopt;
  return Part{to.size() - 1 - following, part.pieces};
}

}  // namespace plimsoll::parallel
