// LSTMCell and GRUCell, called step by step. Exporters write their gates in pieces; on a GPU eager
// code runs two products and a fused kernel (ATen/native/RNN.cpp, LSTMCell and GRUCell). A cell
// that somebody wrote of layers looks the same, but its layers are modules of their own.
#include <algorithm>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// x W^T, and a bias or none.
struct Product {
  TensorId x = kNoTensor, weight = kNoTensor, bias = kNoTensor;
};

std::optional<Product> product_of(const Rewrite& r, TensorId t, const std::string& module) {
  const NodeId id = r.producer(t);
  if (id == kNoNode || r.node(id).module != module) return std::nullopt;
  const Node& node = r.node(id);
  if (node.op == "Gemm" && node.attributes.integer("transB", 0) == 1 &&
      node.attributes.integer("transA", 0) == 0) {
    return Product{node.inputs[0], node.inputs[1],
                   node.inputs.size() > 2 ? node.inputs[2] : kNoTensor};
  }
  const Node* flip = node.op == "MatMul" ? r.made_by(node.inputs[1], "Transpose") : nullptr;
  if (!flip || r.rank(t) != 2) return std::nullopt;
  return Product{node.inputs[0], flip->inputs[0], kNoTensor};
}

// Part `index` of a Split into equal parts of the last axis; the Split, or null.
const Node* part_of(const Rewrite& r, TensorId t, size_t index, size_t parts) {
  const Node* split = r.made_by(t, "Split");
  if (!split || split->outputs.size() != parts || split->outputs[index] != t) return nullptr;
  for (const TensorId out : split->outputs) {
    if (out == kNoTensor || r.tensor(out).shape != r.tensor(split->outputs[0]).shape)
      return nullptr;
  }
  return split;
}

// The operand of `op` that makes `t`; kNoTensor where something else does.
TensorId under(const Rewrite& r, TensorId t, std::string_view op) {
  const Node* node = r.made_by(t, op);
  return node ? node->inputs[0] : kNoTensor;
}

bool replace_by_cell(Finder& f, NodeId at, const Product& input, const Product& hidden,
                     TensorId state) {
  Rewrite& r = f.r;
  if ((input.bias == kNoTensor) != (hidden.bias == kNoTensor)) return false;
  const TensorId before = state == kNoTensor ? hidden.x : state;
  const auto& next = r.tensor(r.node(at).outputs[0]).shape;
  if (!next || next->size() != 2 || r.tensor(before).shape != next) return false;
  for (const TensorId weight : {input.weight, hidden.weight}) {
    if (r.tensor(weight).kind != TensorKind::kParameter || r.rank(weight) != 2) return false;
  }
  r.replace(at, "plimsoll", "RecurrentCell",
            {input.x, hidden.x, state, input.weight, hidden.weight, input.bias, hidden.bias});
  return true;
}

// c' = f c + i g, h' = o tanh(c') with i, f, g, o = split(W x + U h). The sum becomes the cell.
bool lstm_cell(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const TensorId next = r.node(id).outputs[0];
  const Node* forgets = r.made_by(r.node(id).inputs[0], "Mul");
  const Node* writes = r.made_by(r.node(id).inputs[1], "Mul");
  if (!forgets || !writes) return false;
  const TensorId gate = under(r, forgets->inputs[0], "Sigmoid");
  const Node* split = gate == kNoTensor ? nullptr : part_of(r, gate, 1, 4);
  if (!split || under(r, writes->inputs[0], "Sigmoid") != split->outputs[0] ||
      under(r, writes->inputs[1], "Tanh") != split->outputs[2])
    return false;
  const NodeId out_gate = r.only_reader(split->outputs[3]);
  if (out_gate == kNoNode || r.node(out_gate).op != "Sigmoid") return false;
  const NodeId last = r.only_reader(r.node(out_gate).outputs[0]);
  if (last == kNoNode || r.node(last).op != "Mul" || r.node(last).inputs.size() != 2) return false;
  const Node& result = r.node(last);
  if (under(r, result.inputs[1], "Tanh") != next) return false;
  const Node* gates = r.made_by(split->inputs[0], "Add");
  if (!gates) return false;
  const std::string& module = r.node(id).module;
  const auto hidden = product_of(r, gates->inputs[0], module);
  const auto input = product_of(r, gates->inputs[1], module);
  if (!hidden || !input) return false;
  const TensorId state = forgets->inputs[1];
  const TensorId shown = result.outputs[0];
  const size_t before = r.deaths();
  if (!replace_by_cell(f, id, *input, *hidden, state)) return false;
  r.move_output(next, id, 1);
  r.move_output(shown, id, 0);
  f.note("LSTM cell", id, before);
  return true;
}

// Part `index` of both products, added: hidden first.
bool sums_parts(const Rewrite& r, TensorId t, const Node& hidden, const Node& input, size_t index) {
  const Node* sum = r.made_by(t, "Add");
  return sum && sum->inputs[0] == hidden.outputs[index] && sum->inputs[1] == input.outputs[index];
}

// h' = (h - n) z + n, n = tanh(W_n x + r U_n h), r and z sigmoids of the first two parts.
bool gru_cell(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node* moves = r.made_by(r.node(id).inputs[0], "Mul");
  const TensorId fresh = r.node(id).inputs[1];
  const Node* distance = moves ? r.made_by(moves->inputs[0], "Sub") : nullptr;
  const TensorId bent = under(r, fresh, "Tanh");
  if (!distance || bent == kNoTensor || distance->inputs[1] != fresh) return false;
  const Node* sum = r.made_by(bent, "Add");
  const Node* reset = sum ? r.made_by(sum->inputs[1], "Mul") : nullptr;
  if (!reset) return false;
  const Node* input = part_of(r, sum->inputs[0], 2, 3);
  const Node* hidden = part_of(r, reset->inputs[0], 2, 3);
  if (!input || !hidden) return false;
  const bool gated = sums_parts(r, under(r, reset->inputs[1], "Sigmoid"), *hidden, *input, 0) &&
                     sums_parts(r, under(r, moves->inputs[1], "Sigmoid"), *hidden, *input, 1);
  const std::string& module = r.node(id).module;
  const auto of_hidden = product_of(r, hidden->inputs[0], module);
  const auto of_input = product_of(r, input->inputs[0], module);
  if (!gated || !of_hidden || !of_input || of_hidden->x != distance->inputs[0]) return false;
  const size_t before = r.deaths();
  if (!replace_by_cell(f, id, *of_input, *of_hidden, kNoTensor)) return false;
  f.note("GRU cell", id, before);
  return true;
}

}  // namespace

void cells(Finder& f) {
  if (!f.r.graph().producer.starts_with("pytorch")) return;
  const size_t nodes = f.r.nodes();
  for (NodeId id = 0; id < nodes; ++id) {
    if (f.r.dead(id) || f.r.node(id).op != "Add") continue;
    if (!lstm_cell(f, id)) gru_cell(f, id);
  }
}

}  // namespace plimsoll::patterns
