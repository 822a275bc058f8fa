#include "graph/ops/zeros.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

// Known for zeros or for something else; nothing where its elements are not known.
std::optional<bool> known_zeros(const Tensor& t) {
  const auto all = [](const auto& values) {
    using Element = typename std::decay_t<decltype(values)>::value_type;
    return std::ranges::all_of(values, [](const Element& value) { return value == Element(0); });
  };
  if (t.has_dims) return all(t.dims);
  if (t.contents && !(t.contents->integers.empty() && t.contents->reals.empty()))
    return all(t.contents->integers) && all(t.contents->reals);
  return std::nullopt;
}

}  // namespace

bool is_zeros(const Graph& graph, TensorId tensor) {
  constexpr int kFarthest = 8;
  for (int steps = 0; steps < kFarthest && tensor != kNoTensor; ++steps) {
    const Tensor& t = graph.tensors[tensor];
    if (const auto known = known_zeros(t)) return *known;
    if (t.producer == kNoNode) return false;
    const Node& maker = graph.nodes[t.producer];
    if (!has_any(maker, OpRow::kRepeats | OpRow::kConversion | OpRow::kView)) return false;
    tensor = maker.inputs[0];
  }
  return false;
}

}  // namespace plimsoll
