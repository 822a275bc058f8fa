// Layers whose weights are matrices: linear, embedding, recurrent stacks.
#include <fmt/format.h>

#include <iterator>
#include <span>

#include "graph/config/layer.h"

namespace plimsoll::config {
namespace {

constexpr Key kLinearKeys[] = {
    {"out", KeyKind::kExtent, kRequired, "output features"},
    {"in", KeyKind::kExtent, kOptional, "input features, checked where given"},
    {"bias", KeyKind::kFlag, "true", "adds one number per output feature"},
    {"weight", KeyKind::kName, kOptional, "path of the layer whose weight is used (tied)"},
};
constexpr Key kEmbeddingKeys[] = {
    {"vocabulary", KeyKind::kExtent, kRequired, "rows of the table"},
    {"size", KeyKind::kExtent, kRequired, "columns of the table"},
    {"weight", KeyKind::kName, kOptional, "path of the layer whose weight is used (tied)"},
};
constexpr Key kPositionKeys[] = {
    {"positions", KeyKind::kExtent, kOptional,
     "rows of a learned table; the sequence where absent"},
    {"kind", KeyKind::kChoice, "learned", "a learned table, or a fixed one", 1, "learned|fixed"},
};
constexpr Key kRnnKeys[] = {
    {"hidden", KeyKind::kExtent, kRequired, "features of the state"},
    {"layers", KeyKind::kInteger, "1", "stacked layers"},
    {"bidirectional", KeyKind::kFlag, "false", "reads the sequence both ways"},
    {"dropout", KeyKind::kRate, "0", "between the layers"},
    {"bias", KeyKind::kFlag, "true", "two bias vectors per layer and direction"},
    {"batch_first", KeyKind::kFlag, "true", "input is [batch, time, features]"},
    {"skip_input", KeyKind::kFlag, "false", "the first layer adds its input without a weight"},
    {"unrolled", KeyKind::kFlag, "false",
     "its operators run step by step and keep what each needs, as programs without the library do"},
    {"gate_norm", KeyKind::kFlag, "false",
     "batch norm of what the input gives to the gates; with \"unrolled\""},
    {"nonlinearity", KeyKind::kChoice, "tanh", "of the state", 1, "tanh|relu"},
};
// Gates have their nonlinearities.
constexpr std::span<const Key> kRecurrentKeys = std::span(kRnnKeys).first(std::size(kRnnKeys) - 1);

TensorId weight_of(Layer& layer, Shape shape) {
  if (!layer.has("weight")) return layer.parameter("weight", std::move(shape));
  return layer.shared_weight(layer.text("weight"));
}

std::vector<TensorId> linear(Layer& layer) {
  const Dim out = layer.extent("out");
  const Dim in = layer.extent_of(layer.input(), -1);
  layer.expect_extent("in", in);
  std::vector<TensorId> inputs{layer.input(), weight_of(layer, {out, in})};
  if (layer.flag("bias")) inputs.push_back(layer.parameter("bias", {out}));
  return {layer.composite("Linear", std::move(inputs))};
}

std::vector<TensorId> embedding(Layer& layer) {
  const Shape table{layer.extent("vocabulary"), layer.extent("size")};
  return {layer.node("Gather", {weight_of(layer, table), layer.input()}, {{"axis", int64_t{0}}})};
}

// x + table[0..sequence): the table is learned, or sines and cosines.
std::vector<TensorId> position(Layer& layer) {
  const Dim sequence = layer.extent_of(layer.input(), -2);
  const Dim size = layer.extent_of(layer.input(), -1);
  TensorId table = kNoTensor;
  if (layer.text("kind") == "learned") {
    const Dim rows = layer.has("positions") ? layer.extent("positions") : sequence;
    const TensorId weight = layer.parameter("weight", {rows, size});
    const TensorId ids = layer.parameter("ids", {sequence}, DType::kInt64);
    table = layer.node("Gather", {weight, ids}, {{"axis", int64_t{0}}});
  } else {
    table = layer.table({sequence, size});
  }
  return {layer.node("Add", {layer.input(), table})};
}

struct Cell {
  std::string name;
  int64_t gates;
};

Cell cell_of(Layer& layer) {
  if (layer.type().name == "lstm") return {"lstm", 4};
  if (layer.type().name == "gru") return {"gru", 3};
  return {layer.text("nonlinearity") == "relu" ? "rnn_relu" : "rnn_tanh", 1};
}

// Weights as PyTorch names and shapes them: weight_ih_l0 [gates*hidden, in], ...
void add_weights(Layer& layer, const Cell& cell, int64_t layers, int64_t directions,
                 std::vector<TensorId>& inputs) {
  const Dim hidden = layer.extent("hidden");
  const Dim rows = hidden * Dim(cell.gates);
  const bool bias = layer.flag("bias");
  const bool skips = layer.flag("skip_input");
  for (int64_t i = 0; i < layers && !layer.failed(); ++i) {
    const Dim in = i == 0 ? layer.extent_of(layer.input(), -1) : hidden * Dim(directions);
    for (int64_t d = 0; d < directions; ++d) {
      const std::string suffix = fmt::format("_l{}{}", i, d == 1 ? "_reverse" : "");
      inputs.push_back(skips && i == 0 ? kNoTensor
                                       : layer.parameter("weight_ih" + suffix, {rows, in}));
      inputs.push_back(layer.parameter("weight_hh" + suffix, {rows, hidden}));
      inputs.push_back(bias ? layer.parameter("bias_ih" + suffix, {rows}) : kNoTensor);
      inputs.push_back(bias ? layer.parameter("bias_hh" + suffix, {rows}) : kNoTensor);
    }
  }
}

std::vector<TensorId> recurrent(Layer& layer) {
  const Cell cell = cell_of(layer);
  const int64_t layers = layer.integer("layers");
  const int64_t directions = layer.flag("bidirectional") ? 2 : 1;
  if (layers > 1000) layer.fail_at("layers", "E802", "more than 1000 recurrent layers");
  Node node;
  node.op = "Recurrent";
  node.domain = "plimsoll";
  node.attributes.set("cell", cell.name);
  node.attributes.set("layers", layers);
  node.attributes.set("directions", directions);
  node.attributes.set("batch_first", int64_t{layer.flag("batch_first")});
  node.attributes.set("skip_input", int64_t{layer.flag("skip_input")});
  node.attributes.set("unrolled", int64_t{layer.flag("unrolled")});
  node.attributes.set("gate_norm", int64_t{layer.flag("gate_norm")});
  node.attributes.set("dropout", layer.real("dropout"));
  node.inputs = {layer.input()};
  add_weights(layer, cell, layers, directions, node.inputs);
  for (size_t i = 1; i < layer.inputs(); ++i) node.inputs.push_back(layer.input(i));
  return layer.nodes(std::move(node), cell.name == "lstm" ? 3 : 2);
}

constexpr LayerType kDenseLayers[] = {
    {"linear", 1, 1, kLinearKeys, linear, "x W^T + b over the last axis"},
    {"embedding", 1, 1, kEmbeddingKeys, embedding, "rows of a table, picked by whole numbers"},
    {"position", 1, 1, kPositionKeys, position, "adds a table of positions to [N, S, E]"},
    {"lstm", 1, 3, kRecurrentKeys, recurrent,
     "LSTM stack; inputs x, h0, c0; outputs y, h (:1), c (:2)"},
    {"gru", 1, 2, kRecurrentKeys, recurrent, "GRU stack; inputs x, h0; outputs y, h (:1)"},
    {"rnn", 1, 2, kRnnKeys, recurrent, "plain stack; inputs x, h0; outputs y, h (:1)"},
};

}  // namespace

std::span<const LayerType> dense_layers() { return kDenseLayers; }

}  // namespace plimsoll::config
