#include "graph/exporter/weight_roles.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "graph/base/cancel.h"
#include "graph/exporter/folded_weights.h"
#include "graph/exporter/library_names.h"
#include "graph/exporter/tables.h"
#include "graph/exporter/weight_places.h"
#include "graph/ir/module_path.h"
#include "graph/ops/input_independent.h"
#include "graph/ops/op_row.h"

namespace plimsoll {

namespace {

// A norm of weights (NF-ResNets, Big Transfer), which has a gain at most: its shift is zeros.
bool standardises(const Graph& graph, const Node& node) {
  return is_batch_norm(node) &&
         graph.tensors[behind_view(graph, node.inputs[0])].kind == TensorKind::kParameter;
}

// The four of a norm whose statistics no step changes, which is arithmetic and no layer:
// torchvision's and DETR's FrozenBatchNorm2d hold them all as buffers.
void find_frozen_norms(const Graph& graph, std::vector<WeightRole>& kinds) {
  constexpr std::string_view kStatistic = "running_var";
  std::set<std::string> norms;
  for (const Node& node : graph.nodes) {
    if (is_batch_norm(node)) continue;
    for (const TensorId in : node.inputs) {
      const std::string_view name = in != kNoTensor ? graph.tensors[in].name : std::string_view();
      if (last_part(name) == kStatistic)
        norms.emplace(name.substr(0, name.size() - kStatistic.size()));
    }
  }
  for (TensorId id = 0; id < kinds.size() && !norms.empty(); ++id) {
    const std::string& name = graph.tensors[id].name;
    const std::string module = name.substr(0, name.size() - last_part(name).size());
    if (is_weight(kinds[id]) && norms.contains(module)) kinds[id] = WeightRole::kBuffer;
  }
}

// The array that a stored mask writes a number into, masked_fill: zeros of the mask's own shape,
// which multi-head attention makes at every call.
TensorId filled_by_mask(const Graph& graph, const Node& node) {
  if (node.op != "Where") return kNoTensor;
  const NodeId cast = graph.tensors[node.inputs[0]].producer;
  const bool seen_as_bool = cast != kNoNode && has(graph.nodes[cast], OpRow::kConversion);
  const Tensor& mask = graph.tensors[seen_as_bool ? graph.nodes[cast].inputs[0] : node.inputs[0]];
  if (mask.kind != TensorKind::kParameter) return kNoTensor;
  for (size_t i = 1; i < 3; ++i) {
    const Tensor& array = graph.tensors[node.inputs[i]];
    const Tensor& number = graph.tensors[node.inputs[3 - i]];
    if (array.origin == Origin::kGenerated && array.shape == mask.shape && number.contents)
      return node.inputs[i];
  }
  return kNoTensor;
}

// Arrays that PyTorch's exporters folded, and frequencies that positions are divided by (DETR's
// sine embedding), are made anew at every step.
void find_computed(const Graph& graph, std::vector<WeightRole>& kinds) {
  if (graph.exporter != Exporter::kPyTorch) return;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    if (t.kind == TensorKind::kParameter && kinds[id] == WeightRole::kConstant &&
        t.origin == Origin::kFolded)
      kinds[id] = WeightRole::kComputed;
  }
  const std::vector<char> independent = input_independent(graph);
  for (const Node& node : graph.nodes) {
    if (const TensorId array = filled_by_mask(graph, node); array != kNoTensor)
      kinds[array] = WeightRole::kComputed;
    if (!is_quotient(node) || !independent[node.inputs[0]]) continue;
    const Tensor& divisor = graph.tensors[node.inputs[1]];
    if (divisor.origin == Origin::kGenerated && divisor.shape && divisor.shape->size() == 1)
      kinds[node.inputs[1]] = WeightRole::kComputed;
  }
}

// First states of recurrent layers, which frameworks make at every step; a module of PyTorch's that
// holds them as parameters trains them.
void find_first_states(const Graph& graph, std::vector<WeightRole>& kinds) {
  if (graph.exporter == Exporter::kPyTorch) return;
  for (const Node& node : graph.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId state = is_state_place(node, i) ? node.inputs[i] : kNoTensor;
      if (state != kNoTensor && kinds[state] == WeightRole::kTrained)
        kinds[state] = WeightRole::kConstant;
    }
  }
}

// Means and deviations that the input is normalised with, a number for each channel: nobody trains
// what is taken from the input itself, nor what divides it. PyTorch's modules hold them as buffers.
void find_normalisation(const Graph& graph, std::vector<WeightRole>& kinds) {
  std::vector<char> raw(graph.tensors.size(), 0);  // the input, moved or normalised so far
  for (const TensorId in : graph.inputs) raw[in] = 1;
  for (const Node& node : graph.nodes) {
    if (node.inputs.empty() || node.inputs[0] == kNoTensor || !raw[node.inputs[0]]) continue;
    bool still = is_view(node) || has(node, OpRow::kReframes);
    const bool takes = is_difference(node) || is_quotient(node);
    if (has_any(node, OpRow::kAddition | OpRow::kMultiplication) && node.inputs.size() == 2) {
      const TensorId own = behind_views(graph, node.inputs[1]);
      const Tensor& t = graph.tensors[own];
      const bool trained = kinds[own] == WeightRole::kTrained;
      if (takes && trained && !t.weight && is_along_one_axis(t)) kinds[own] = WeightRole::kBuffer;
      still = t.kind == TensorKind::kParameter && !is_weight(kinds[own]);
    }
    if (still) raw[node.outputs[0]] = 1;
  }
}

// The node that computes what is only seen in another shape or type.
NodeId maker_behind_views(const Graph& graph, TensorId tensor) {
  for (size_t steps = 0; steps < 8; ++steps) {
    const NodeId maker = graph.tensors[tensor].producer;
    if (maker == kNoNode) return kNoNode;
    const Node& node = graph.nodes[maker];
    if (!is_view(node) && !has(node, OpRow::kRepeats)) return maker;
    tensor = node.inputs[0];
  }
  return kNoNode;
}

// Does the module that has this table of positions have a norm of embeddings too?
bool has_norm_beside(const Graph& graph, const std::string& table) {
  const std::string norm = table.substr(0, table.rfind("embed_positions")) + "layernorm_embedding.";
  return std::any_of(graph.tensors.begin(), graph.tensors.end(),
                     [&](const Tensor& t) { return t.name.starts_with(norm); });
}

// Tables of sines that Hugging Face holds as parameters without a gradient: read at the positions
// themselves, or added whole. Learned ones are read from an offset on (BART, OPT), or their sum
// with words is normalised (BlenderbotSmall).
void find_frozen(const Graph& graph, std::vector<WeightRole>& kinds) {
  const std::vector<char> independent = input_independent(graph);
  for (const Node& node : graph.nodes) {
    if (node.inputs.size() != 2) continue;
    for (const TensorId in : node.inputs) {
      if (in == kNoTensor || kinds[in] != WeightRole::kTrained) continue;
      const std::string& name = graph.tensors[in].name;
      if (!has_role(name, NameRole::kPositions) || has_norm_beside(graph, name)) continue;
      const bool taken_whole = has_role(name, NameRole::kAllPositions);
      bool sines = is_sum(node) && taken_whole;
      if (has(node, OpRow::kPicksByIndex) && in == node.inputs[0] && independent[node.inputs[1]]) {
        const NodeId maker = maker_behind_views(graph, node.inputs[1]);
        sines =
            (maker == kNoNode && taken_whole) || (maker != kNoNode && is_range(graph.nodes[maker]));
      }
      if (sines) kinds[in] = WeightRole::kFrozen;
    }
  }
}

// What is said to be a buffer, or people register as one, by name. A mask that differs from head to
// head is trained.
bool is_buffer(const Tensor& t) {
  const bool per_head = t.shape && t.shape->size() == 4 && !((*t.shape)[1] == Dim(1));
  return t.buffer || has_role(t.name, NameRole::kBuffer) ||
         (has_role(t.name, NameRole::kMask) && !per_head);
}

// What no node reads is nobody's parameter: passes put others in its place.
void drop_unread(const Graph& graph, std::vector<WeightRole>& kinds) {
  const std::vector<char> read = read_by_nodes(graph);
  for (TensorId id = 0; id < kinds.size(); ++id) {
    if (!read[id]) kinds[id] = WeightRole::kConstant;
  }
}

// What the module itself says, of all that is still read and of what its forward pass never read.
void take_its_word(const Graph& graph, std::vector<WeightRole>& kinds) {
  const std::vector<char> read = read_by_nodes(graph);
  for (TensorId id = 0; id < kinds.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    if (t.kind != TensorKind::kParameter || (!read[id] && !t.spare)) continue;
    const bool guessed = is_weight(kinds[id]) || kinds[id] == WeightRole::kBuffer;
    kinds[id] = t.frozen   ? WeightRole::kFrozen
                : t.buffer ? WeightRole::kBuffer
                : t.weight ? WeightRole::kTrained
                : guessed  ? WeightRole::kConstant
                           : kinds[id];
  }
}

}  // namespace

std::vector<WeightRole> classify_parameters(const Graph& graph) {
  std::vector<WeightRole> kinds(graph.tensors.size(), WeightRole::kConstant);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    if (t.kind != TensorKind::kParameter || !is_float(t.dtype)) continue;
    if (t.weight) {
      kinds[id] = WeightRole::kTrained;
    } else if (t.origin == Origin::kAuthored) {
      kinds[id] = is_buffer(t) ? WeightRole::kBuffer : WeightRole::kTrained;
    }
  }
  for (const Node& node : graph.nodes) {
    check_cancelled();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoTensor) continue;
      const TensorId in = behind_view(graph, node.inputs[i]);
      if (graph.tensors[in].kind != TensorKind::kParameter) continue;
      if (is_statistic_place(node, i)) kinds[in] = WeightRole::kBuffer;
      if (is_float(graph.tensors[in].dtype) && kinds[in] == WeightRole::kConstant &&
          is_weight_place(node, i) && !node.notes.plain_norm &&
          !(i == 2 && standardises(graph, node)) &&
          graph.tensors[in].origin != Origin::kGenerated &&
          (has_any(node, OpRow::kSquashing | OpRow::kRectifier) || !graph.tensors[in].contents)) {
        kinds[in] = WeightRole::kTrained;
      }
    }
  }
  for (const auto& find : {find_tables, find_first_states, find_normalisation, find_folded_weights,
                           find_frozen, find_frozen_norms, find_computed, drop_unread}) {
    check_cancelled();
    find(graph, kinds);
  }
  // A number whose value the file gives is no weight, unless it is a module's own ("gain" of a
  // block).
  const std::set<TensorId> folded = folded_numbers(graph);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    if (folded.contains(id)) kinds[id] = WeightRole::kTrained;
    if (kinds[id] != WeightRole::kTrained || folded.contains(id)) continue;
    if (t.frozen) kinds[id] = WeightRole::kFrozen;
    if (t.buffer) kinds[id] = WeightRole::kBuffer;
    if (!t.contents || !t.shape || !t.shape->empty()) continue;
    const bool of_module = graph.exporter == Exporter::kPyTorch && t.name.find('.') != t.name.npos;
    if (!of_module) kinds[id] = WeightRole::kConstant;
    if (of_module && has_role(t.name, NameRole::kScale)) kinds[id] = WeightRole::kBuffer;
  }
  if (graph.told) take_its_word(graph, kinds);
  return kinds;
}

std::vector<char> untrained(const Graph& graph, const std::vector<WeightRole>& kinds) {
  std::vector<char> found(kinds.size());
  for (TensorId id = 0; id < kinds.size(); ++id) {
    const bool parameter = graph.tensors[id].kind == TensorKind::kParameter;
    found[id] = parameter && kinds[id] != WeightRole::kTrained;
  }
  return found;
}

}  // namespace plimsoll
