// One time step of a recurrent layer as two products and a fused kernel, which keeps what the
// products gave and a workspace (aten::_thnn_fused_lstm_cell and _thnn_fused_gru_cell: what is kept
// by tools/autograd/derivatives.yaml, the sizes by ATen/native/cuda/RNN.cu).
#include "graph/eager/autocast.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

constexpr int64_t kFlopPerGate = 10;

void launch(Machine& m, const char* op, std::initializer_list<const Value*> read,
            const Value& written) {
  m.launch_rows(KernelClass::kPointwise, op, written.count() * Dim(kFlopPerGate), read, {&written});
}

Value sum_of_rows(Machine& m, const Value& x) { return sum_to(m, x, {x.sizes()[1]}); }

// Gates of input and state share one gradient, and so do the biases.
Gradients lstm_backward(Machine& m, const Gradients& g, const GradNode& n) {
  const Value& cx = n.saved(2);
  const Value& workspace = n.saved(4);
  const Value gates = m.allocate(workspace.dtype(), workspace.sizes());
  const Value dcx = m.allocate(cx.dtype(), cx.sizes());
  launch(m, "lstm_cell", {&g[0], &g[1], &cx, &workspace}, gates);
  const bool bias = n.edges.size() > 3;
  const Value sum = bias ? sum_of_rows(m, gates) : Value();
  return bias ? Gradients{gates, gates, dcx, sum, sum} : Gradients{gates, gates, dcx};
}

Gradients gru_backward(Machine& m, const Gradients& g, const GradNode& n) {
  const Value& of_input = n.saved(0);
  const Value& workspace = n.saved(3);
  const Value input_gates = m.allocate(of_input.dtype(), of_input.sizes());
  const Value hidden_gates = m.allocate(of_input.dtype(), of_input.sizes());
  const Value dhx = m.allocate(g[0].dtype(), g[0].sizes());
  launch(m, "gru_cell", {&g[0], &workspace}, input_gates);
  if (n.edges.size() == 3) return {input_gates, hidden_gates, dhx};
  return {input_gates, hidden_gates, dhx, sum_of_rows(m, input_gates),
          sum_of_rows(m, hidden_gates)};
}

}  // namespace

std::vector<Value> recurrent_cell(Machine& m, const CellInputs& in) {
  const bool lstm = in.c.defined();
  const auto product = [&m](const Value& x, const Value& weight) {
    return mm(m, x, transpose(m, to_autocast(m, weight), 0, 1));
  };
  const Value state = to_autocast(m, lstm ? in.c : in.h);
  const Value of_input = product(in.x, in.input_weight);
  const Value of_state = product(in.h, in.hidden_weight);
  std::vector<Value> inputs{of_input, of_state, state};
  if (in.input_bias.defined())
    inputs.insert(inputs.end(), {to_autocast(m, in.input_bias), to_autocast(m, in.hidden_bias)});
  const Dim& batch = of_input.sizes()[0];
  const Dim& hidden = state.sizes()[1];
  std::vector<Value> outputs{m.allocate(state.dtype(), state.sizes())};
  if (lstm) outputs.push_back(m.allocate(state.dtype(), state.sizes()));
  const Value workspace = m.allocate(of_input.dtype(), {batch, hidden * Dim(lstm ? 4 : 5)});
  launch(m, lstm ? "lstm_cell" : "gru_cell", {&of_input, &of_state, &state}, workspace);
  std::vector<Kept> kept{{of_input, "a fused cell keeps the gates of its input"},
                         {of_state, "a fused cell keeps the gates of its state"},
                         {state, "a fused cell keeps its state"}};
  if (lstm) kept.push_back({outputs[1], "a fused cell keeps its next state"});
  kept.push_back({workspace, "a fused cell keeps its workspace"});
  m.record(outputs, inputs, std::move(kept), lstm ? lstm_backward : gru_backward);
  return outputs;
}

}  // namespace plimsoll::eager
