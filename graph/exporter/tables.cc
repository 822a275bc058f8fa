#include "graph/exporter/tables.h"

#include <algorithm>

#include "graph/exporter/library_names.h"
#include "graph/exporter/weight_places.h"
#include "graph/ops/input_independent.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

// Shows or repeats its first input, or picks from it.
bool rearranges(const Node& node) {
  return has_any(node, OpRow::kView | OpRow::kSlices | OpRow::kRepeats | OpRow::kPicksByIndex |
                           OpRow::kConversion);
}

// Is what positions pick from this table multiplied with data, and nothing else done with it?
// Rotary sines are (GPT-J, CodeGen); positions that were learned are added.
bool picked_factor(const Graph& graph, const Consumers& readers,
                   const std::vector<char>& independent, TensorId table) {
  bool picked = false, factor = false;
  std::vector<TensorId> pending{table};
  for (size_t visited = 0; visited < pending.size(); ++visited) {
    if (visited >= 64) return false;
    const TensorId t = pending[visited];
    for (const NodeId id : readers[t]) {
      const Node& node = graph.nodes[id];
      if (is_product(node) && t != table) {
        const TensorId other = beside(node, t);
        factor = factor || (other != kNoTensor && !independent[other]);
      } else if (rearranges(node) && node.inputs[0] == t) {
        const bool picks = has(node, OpRow::kPicksByIndex);
        if (picks && !independent[node.inputs[1]]) return false;
        picked = picked || picks;
        for (const TensorId out : node.outputs) {
          if (out != kNoTensor) pending.push_back(out);
        }
      } else if (!has(node, OpRow::kShapeOf)) {
        return false;
      }
    }
  }
  return picked && factor;
}

// A square for all samples and heads of which slices alone are read, [1, 1, N, N]: the triangle
// that OpenAI's GPT multiplies its scores with.
bool is_sliced_square(const Graph& graph, const Consumers& readers, TensorId table) {
  const Shape& s = *graph.tensors[table].shape;
  return s.size() == 4 && s[0] == Dim(1) && s[1] == Dim(1) && s[2] == s[3] &&
         !readers[table].empty() &&
         std::all_of(readers[table].begin(), readers[table].end(),
                     [&](NodeId id) { return has(graph.nodes[id], OpRow::kSlices); });
}

// Does nothing but comparisons read it, or views of it that are compared? Those have no gradient: a
// mask of ones and zeros, whatever its name (minGPT's "attn.bias").
bool is_compared(const Graph& graph, const Consumers& readers, TensorId table) {
  bool compared = false;
  std::vector<TensorId> pending{table};
  for (size_t visited = 0; visited < pending.size(); ++visited) {
    if (visited >= 64) return false;
    for (const NodeId id : readers[pending[visited]]) {
      const Node& node = graph.nodes[id];
      const bool compares = has(node, OpRow::kPredicate);
      const bool as_bool =
          has(node, OpRow::kConversion) && graph.tensors[node.outputs[0]].dtype == DType::kBool;
      compared = compared || compares || as_bool;
      if (compares || as_bool || has(node, OpRow::kShapeOf)) continue;
      if (!rearranges(node) || node.inputs[0] != pending[visited]) return false;
      for (const TensorId out : node.outputs) {
        if (out != kNoTensor) pending.push_back(out);
      }
    }
  }
  return compared;
}

// What a layer's weight is multiplied with element by element: the mask of PixelCNN's convolutions.
// Nobody trains two factors of one weight.
bool masks_weight(const Graph& graph, const Consumers& readers, TensorId mask) {
  const Tensor& t = graph.tensors[mask];
  if (readers[mask].size() != 1 || !has_role(t.name, NameRole::kMask)) return false;
  const Node& node = graph.nodes[readers[mask][0]];
  const TensorId weight = is_product(node) ? beside(node, mask) : kNoTensor;
  return weight != kNoTensor && graph.tensors[weight].kind == TensorKind::kParameter &&
         graph.tensors[weight].shape == t.shape;
}

// Sines of patches that are registered as a buffer; learned ones of this name are picked by
// position.
bool is_patch_positions(const Graph& graph, const Consumers& readers, TensorId table) {
  return has_role(graph.tensors[table].name, NameRole::kPatchSines) &&
         std::ranges::none_of(
             readers[table], [&](NodeId id) { return has(graph.nodes[id], OpRow::kPicksByIndex); });
}

// Do layers multiply by it, or by views of it? A weight of two arrays, as a gain of its rows.
bool is_weight_of_layer(const Graph& graph, const Consumers& readers, TensorId product) {
  std::vector<TensorId> pending{product};
  for (size_t visited = 0; visited < pending.size() && visited < 64; ++visited) {
    for (const NodeId id : readers[pending[visited]]) {
      const Node& node = graph.nodes[id];
      if (multiplies_by_weight(node) && node.inputs.size() > 1 &&
          node.inputs[1] == pending[visited])
        return true;
      if (is_view(node)) pending.push_back(node.outputs[0]);
    }
  }
  return false;
}

}  // namespace

void find_tables(const Graph& graph, std::vector<WeightRole>& kinds) {
  const std::vector<char> independent = input_independent(graph);
  const Consumers readers(graph);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    const bool table = t.kind == TensorKind::kParameter && t.shape && t.shape->size() == 2 &&
                       kinds[id] == WeightRole::kTrained && !t.name.ends_with(".weight");
    if (table && picked_factor(graph, readers, independent, id)) kinds[id] = WeightRole::kBuffer;
    const bool array = kinds[id] == WeightRole::kTrained && t.shape && t.shape->size() > 1;
    if (array && (is_compared(graph, readers, id) || masks_weight(graph, readers, id) ||
                  is_sliced_square(graph, readers, id) || is_patch_positions(graph, readers, id)))
      kinds[id] = WeightRole::kBuffer;
  }
  for (const Node& node : graph.nodes) {
    if (has(node, OpRow::kDense)) {
      const TensorId data = node.inputs[0];
      const auto& shape = graph.tensors[data].shape;
      // Beside data it is the weight itself: a capsule's, one matrix for each pair.
      const bool of_layer = kinds[behind_view(graph, node.inputs[1])] == WeightRole::kTrained;
      if (of_layer && kinds[data] == WeightRole::kTrained && shape && shape->size() > 2)
        kinds[data] = WeightRole::kBuffer;
    }
    for (const TensorId in : node.inputs) {
      if (!is_product(node) || in == kNoTensor || kinds[in] != WeightRole::kTrained) continue;
      const TensorId other = beside(node, in);
      const auto& shape = graph.tensors[in].shape;
      if (other == kNoTensor || !independent[other] || !shape || shape->empty()) continue;
      const auto& positions = graph.tensors[other].shape;  // a single number is a factor
      const bool table = positions && !positions->empty();
      if (table && !is_weight_of_layer(graph, readers, node.outputs[0]))
        kinds[in] = WeightRole::kBuffer;
    }
  }
}

}  // namespace plimsoll
