#include "graph/parameter_kinds.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "graph/made_of_shapes.h"

namespace plimsoll {

namespace {

bool is_weight_input(const Node& node, size_t input) {
  static constexpr std::array<std::string_view, 14> kLayers = {"Conv",
                                                               "ConvTranspose",
                                                               "MatMul",
                                                               "Gemm",
                                                               "Linear",
                                                               "LSTM",
                                                               "GRU",
                                                               "RNN",
                                                               "Recurrent",
                                                               "BatchNormalization",
                                                               "LayerNormalization",
                                                               "GroupNormalization",
                                                               "InstanceNormalization",
                                                               "RMSNormalization"};
  if (node.op == "Gather") return input == 0;
  return input > 0 && std::find(kLayers.begin(), kLayers.end(), node.op) != kLayers.end();
}

// "val_7", "unsqueeze_14", "onnx::Mul_12": what exporters call results that they folded.
bool is_folded_name(std::string_view name) {
  if (name.find("::") != std::string_view::npos) return true;
  if (name.find('.') != std::string_view::npos) return false;
  const size_t digits = name.find_last_not_of("0123456789");
  return digits != std::string_view::npos && digits + 1 < name.size() && name[digits] == '_';
}

// What no node reads is nobody's parameter: passes put others in its place.
void drop_unread(const Graph& graph, std::vector<ParameterKind>& kinds) {
  std::vector<bool> read(graph.tensors.size(), false);
  for (const Node& node : graph.nodes) {
    for (const TensorId in : node.inputs) {
      if (in != kNoTensor) read[in] = true;
    }
  }
  for (TensorId id = 0; id < kinds.size(); ++id) {
    if (!read[id]) kinds[id] = ParameterKind::kConstant;
  }
}

// The other operand of a node of two; kNoTensor of any other node.
TensorId beside(const Node& node, TensorId one) {
  if (node.inputs.size() != 2) return kNoTensor;
  return node.inputs[node.inputs[0] == one ? 1 : 0];
}

// A table that multiplies nothing but positions, as rotary frequencies do, is not trained; nor is
// one that a layer takes as its data, as Swin v2 does its coordinates. (A matrix there may be one
// factor of a weight.)
void find_tables(const Graph& graph, std::vector<ParameterKind>& kinds) {
  const std::vector<char> from_shapes = made_of_shapes(graph);
  for (const Node& node : graph.nodes) {
    if (node.op == "MatMul" || node.op == "Linear") {
      const TensorId data = node.inputs[0];
      const auto& shape = graph.tensors[data].shape;
      if (kinds[data] == ParameterKind::kTrained && shape && shape->size() > 2)
        kinds[data] = ParameterKind::kBuffer;
    }
    for (const TensorId in : node.inputs) {
      if (node.op != "Mul" || in == kNoTensor || kinds[in] != ParameterKind::kTrained) continue;
      const TensorId other = beside(node, in);
      const auto& shape = graph.tensors[in].shape;
      const bool table = other != kNoTensor && from_shapes[other] && shape && !shape->empty();
      if (table) kinds[in] = ParameterKind::kBuffer;
    }
  }
}

// A factor that an exporter folded is trained where what it scales is shifted by a trained tensor
// of the same extents: the two halves of an affine layer.
void find_folded_scales(const Graph& graph, std::vector<ParameterKind>& kinds) {
  for (const Node& node : graph.nodes) {
    for (const TensorId shift : node.inputs) {
      if (node.op != "Add" || shift == kNoTensor || kinds[shift] != ParameterKind::kTrained)
        continue;
      const TensorId product = beside(node, shift);
      const NodeId maker = product == kNoTensor ? kNoNode : graph.tensors[product].producer;
      if (maker == kNoNode || graph.nodes[maker].op != "Mul") continue;
      for (const TensorId factor : graph.nodes[maker].inputs) {
        const Tensor& t = graph.tensors[factor];
        const bool folded = t.kind == TensorKind::kParameter && is_float(t.dtype) &&
                            !t.from_constant_node && !t.contents;
        if (folded && t.shape == graph.tensors[shift].shape)
          kinds[factor] = ParameterKind::kTrained;
      }
    }
  }
}

}  // namespace

std::vector<ParameterKind> classify_parameters(const Graph& graph) {
  std::vector<ParameterKind> kinds(graph.tensors.size(), ParameterKind::kConstant);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    if (t.kind == TensorKind::kParameter && is_float(t.dtype) && !t.from_constant_node &&
        !is_folded_name(t.name)) {
      kinds[id] = ParameterKind::kTrained;
    }
  }
  for (const Node& node : graph.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId in = node.inputs[i];
      if (in == kNoTensor || graph.tensors[in].kind != TensorKind::kParameter) continue;
      if (node.op == "BatchNormalization" && i >= 3) kinds[in] = ParameterKind::kBuffer;
      if (is_float(graph.tensors[in].dtype) && kinds[in] == ParameterKind::kConstant &&
          is_weight_input(node, i) && !graph.tensors[in].from_constant_node &&
          !graph.tensors[in].contents) {
        kinds[in] = ParameterKind::kTrained;
      }
    }
  }
  find_tables(graph, kinds);
  find_folded_scales(graph, kinds);
  drop_unread(graph, kinds);
  // A small constant whose contents the file gives is a number, not a weight.
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    const bool scalar = t.shape && elements(*t.shape) == Dim(1);
    if (kinds[id] == ParameterKind::kTrained && t.contents && scalar && t.shape->empty()) {
      kinds[id] = ParameterKind::kConstant;
    }
  }
  return kinds;
}

}  // namespace plimsoll
