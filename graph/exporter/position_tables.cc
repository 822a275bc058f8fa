#include "graph/exporter/position_tables.h"

#include <algorithm>
#include <optional>

#include "graph/exporter/weight_places.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

// The one number that a tensor is known to hold.
std::optional<int64_t> whole_number(const Graph& graph, TensorId tensor) {
  if (tensor == kNoTensor) return std::nullopt;
  const Tensor& t = graph.tensors[tensor];
  if (t.has_dims && t.dims.size() == 1) return t.dims[0].constant();
  if (t.contents && t.contents->integers.size() == 1) return t.contents->integers[0];
  return std::nullopt;
}

// How many rows an index of consecutive numbers reaches over; nothing where it is another index.
std::optional<Dim> rows_read_by(const Graph& graph, TensorId index) {
  constexpr int kFarthest = 12;
  Dim moved = 0;
  for (int steps = 0; steps < kFarthest && index != kNoTensor; ++steps) {
    const Tensor& t = graph.tensors[index];
    if (t.kind == TensorKind::kParameter && t.shape && t.shape->size() == 1 &&
        !t.shape->front().constant())
      return t.shape->front() + moved;  // a config's own list of places
    if (t.producer == kNoNode) return std::nullopt;
    const Node& node = graph.nodes[t.producer];
    if (is_range(node)) {
      const auto first = whole_number(graph, node.inputs[0]);
      const auto step = whole_number(graph, node.inputs[2]);
      if (!first || step != 1 || !t.shape) return std::nullopt;
      return t.shape->front() + Dim(*first) + moved;
    }
    TensorId next = node.inputs.empty() ? kNoTensor : node.inputs[0];
    if (is_sum(node)) {
      const auto left = whole_number(graph, node.inputs[0]);
      const auto right = whole_number(graph, node.inputs[1]);
      if (!left && !right) return std::nullopt;
      moved += Dim(left ? *left : *right);
      if (left) next = node.inputs[1];
    } else if (!is_view(node) && !has(node, OpRow::kRepeats)) {
      return std::nullopt;
    }
    index = next;
  }
  return std::nullopt;
}

}  // namespace

std::vector<PositionTable> position_tables(const Graph& graph) {
  std::vector<PositionTable> found;
  for (const Node& node : graph.nodes) {
    if (!has(node, OpRow::kPicksByIndex) || node.inputs.size() < 2) continue;
    if (node.inputs[0] == kNoTensor || node.attributes.integer("axis", 0) != 0) continue;
    const Tensor& table = graph.tensors[node.inputs[0]];
    const bool rows = table.kind == TensorKind::kParameter && is_float(table.dtype) &&
                      table.shape && table.shape->size() == 2;
    if (!rows) continue;
    if (auto read = rows_read_by(graph, node.inputs[1]))
      found.push_back({node.inputs[0], table.shape->front(), std::move(*read)});
  }
  return found;
}

}  // namespace plimsoll
