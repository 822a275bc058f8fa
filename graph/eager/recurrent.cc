#include "graph/eager/autocast.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

int64_t gates(Cell cell) { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }

// Under autocast all weights are cast into one flat buffer at every call, and seen as windows on it
// (ATen/native/cudnn/RNN.cpp, _cudnn_rnn_cast_reflatten).
std::vector<Value> cast_weights(Machine& m, std::span<const Value> weights, Value& flat) {
  if (!m.autocast()) return {weights.begin(), weights.end()};
  Dim count = 0;
  for (const Value& w : weights) count += w.count();
  flat = fill(m, *m.autocast(), {count});
  std::vector<Value> windows;
  for (const Value& w : weights) {
    Value window = m.view_of(flat, contiguous_layout(flat.dtype(), w.sizes()));
    m.launch_rows(KernelClass::kCopy, "cast", 0, {&w}, {&window});
    const Value inputs[] = {w};
    m.record(window, inputs, {},
             [type = w.dtype()](Machine& mm, const Gradients& g, const GradNode&) {
               return Gradients{cast(mm, g[0], type)};
             });
    windows.push_back(std::move(window));
  }
  return windows;
}

// Values that the operators of one time step keep, per sample, layer, direction and hidden unit,
// the state included. Cut from one product, gates are arrays of their own:
//   LSTM  4 gates; c, tanh(c), h              before their bends: 4 gates (tanh(c)'s input is c)
//   GRU   2 gates; r h, tanh, n - h, h        2 gates and n; a norm of the gates' input: 2
//   tanh  h                                   1
// (apache/mxnet: python/mxnet/rnn/rnn_cell.py, example/speech_recognition/stt_layer_gru.py).
int64_t kept_unrolled(const Policy& policy, const RecurrentOptions& o) {
  const bool before = policy.smooth_keeps_input;
  switch (o.cell) {
    case Cell::kLstm:
      return 7 + (before ? 4 : 0) + (o.gate_norm ? 4 : 0);
    case Cell::kGru:
      return 6 + (before ? 3 : 0) + (o.gate_norm ? 2 : 0);
    case Cell::kRnnTanh:
      return 1 + (before ? 1 : 0) + (o.gate_norm ? 1 : 0);
    case Cell::kRnnRelu:
      return 1 + (policy.relu_keeps_input ? 1 : 0) + (o.gate_norm ? 1 : 0);
  }
  return 1;
}

// A library's reserve is opaque (cudnnGetRNNTrainingReserveSize); taken as gates + 1 values.
int64_t kept_per_unit(const Policy& policy, const RecurrentOptions& o, bool unrolled) {
  return unrolled ? kept_unrolled(policy, o) : gates(o.cell) + 1;
}

// The form of its cells where it is a loop over them.
std::optional<CellForm> cells_of(const Machine& m, const RecurrentOptions& o) {
  const Policy& policy = m.policy();
  if (!m.recipe().unrolled.value_or(o.unrolled || policy.unrolls_recurrent)) return {};
  return policy.cell_form;
}

struct WeightSums {
  Dim bytes = 0, count = 0;
  Dim matrix_count = 0;  // biases multiply nothing
};

WeightSums sums_of(const std::vector<Value>& weights) {
  WeightSums sums;
  for (const Value& w : weights) {
    sums.bytes += w.bytes();
    sums.count += w.count();
    if (w.rank() > 1) sums.matrix_count += w.count();
  }
  return sums;
}

struct LibraryCall {
  RecurrentProblem<Dim> problem;
  Dim flop;
  DType dtype;

  void launch(Machine& m, Pass pass, const Dim& bytes_read, const Dim& bytes_written,
              std::initializer_list<const Value*> read,
              std::initializer_list<const Value*> written) const {
    m.launch({.kernel_class = KernelClass::kRecurrent,
              .pass = pass,
              .dtype = dtype,
              .tensor_core = m.tensor_core_convolutions(dtype),
              .op = "recurrent",
              .flop = flop,
              .read = bytes_read,
              .written = bytes_written,
              .problem = problem},
             read, written);
  }
};

Gradients backward_of(Machine& m, const LibraryCall& call, const WeightSums& sums, bool library,
                      const Gradients& g, const GradNode& n) {
  Gradients out(n.edges.size());
  const Value& input = n.saved(0);
  const Value& result = n.saved(2);
  // Results that nobody read have zeros for gradients (aten/src/ATen/native/cudnn/RNN.cpp).
  std::vector<Value> zeros;
  for (size_t i = 0; i < g.size() && library; ++i) {
    const Value& like = n.saved(i == 0 ? 2 : 1);
    if (!g[i].defined()) zeros.push_back(fill(m, like.dtype(), like.sizes()));
  }
  const Value flat = fill(m, input.dtype(), {sums.count});
  out[0] = m.allocate(input.dtype(), input.sizes());
  const Value dh = m.allocate(n.saved(1).dtype(), n.saved(1).sizes());
  const bool has_cell = call.problem.cell == Cell::kLstm;
  const Value dc = has_cell ? m.allocate(dh.dtype(), dh.sizes()) : Value();
  call.launch(m, Pass::kBackwardData, result.bytes() + sums.bytes, input.bytes(), {&g[0], &result},
              {&out[0]});
  call.launch(m, Pass::kBackwardWeights, result.bytes() + input.bytes(), sums.bytes,
              {&result, &input}, {&flat});
  // Every weight's gradient is a window on one flat buffer.
  for (size_t i = 3; i < n.edges.size(); ++i) {
    if (n.needs(i))
      out[i] = m.view_of(flat, contiguous_layout(flat.dtype(), n.edges[i].input->sizes));
  }
  if (n.needs(1)) out[1] = dh;
  if (n.needs(2)) out[2] = dc;
  return out;
}

}  // namespace

// One call for the whole stack; where it is unrolled, what its time steps keep is counted as one.
std::vector<Value> recurrent(Machine& m, const Value& given, Value h0, Value c0,
                             std::span<const Value> given_weights, const RecurrentOptions& o) {
  const Value x = to_autocast(m, given);
  // cuDNN takes no state with gaps: whoever repeats a trained one over the samples makes it whole.
  const auto whole = [&m](const Value& v) { return v.on_device() ? contiguous(m, v) : v; };
  if (h0.defined()) h0 = whole(to_autocast(m, h0));
  if (c0.defined()) c0 = whole(to_autocast(m, c0));
  const std::optional<CellForm> unrolled = cells_of(m, o);
  Value flat_weights;
  const std::vector<Value> weights = cast_weights(m, given_weights, flat_weights);
  const Dim& batch = x.sizes()[o.batch_first ? 0 : 1];
  const Dim& steps = x.sizes()[o.batch_first ? 1 : 0];
  const Shape state{Dim(o.layers * o.directions), batch, o.hidden};
  const bool has_cell = o.cell == Cell::kLstm;
  if (!h0.defined()) h0 = fill(m, x.dtype(), state);
  if (has_cell && !c0.defined()) c0 = fill(m, x.dtype(), state);
  Value y = m.allocate(x.dtype(), {x.sizes()[0], x.sizes()[1], Dim(o.directions) * o.hidden});
  Value h = m.allocate(x.dtype(), state);
  Value c = has_cell ? m.allocate(x.dtype(), state) : Value();
  const Dim width = Dim(bits(x.dtype()) / 8);
  const Dim reserve_bytes =
      batch * steps *
      Dim(o.layers * o.directions * kept_per_unit(m.policy(), o, unrolled.has_value())) * o.hidden *
      width;
  std::vector<Value> inputs{x, h0, c0};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  const WeightSums sums = sums_of(weights);
  const RecurrentProblem<Dim> problem{.cell = o.cell,
                                      .input = x.sizes()[2],
                                      .hidden = o.hidden,
                                      .batch = batch,
                                      .timesteps = steps,
                                      .layers = o.layers,
                                      .directions = o.directions,
                                      .skip_input = o.skip_input,
                                      .unrolled = unrolled};
  const LibraryCall call{problem, Dim(2) * batch * steps * sums.matrix_count, x.dtype()};
  call.launch(m, Pass::kForward, x.bytes() + sums.bytes, y.bytes(), {&x}, {&y});
  std::vector<Kept> kept;
  if (m.tracks(inputs)) {
    const Value reserve = m.allocate(DType::kUint8, {reserve_bytes});
    kept = {{x, "recurrent layers keep their input"},
            {h0, "recurrent layers keep their first state"},
            {y, "recurrent layers keep their result"},
            {reserve, unrolled ? "recurrent layers keep what each time step needs"
                               : "recurrent layers keep the library's reserve"}};
    if (has_cell) kept.push_back({c0, "recurrent layers keep their first cell"});
    if (flat_weights.defined())
      kept.push_back({flat_weights, "recurrent layers keep their weights' casts"});
  }
  std::vector<Value> outputs{y, h};
  if (has_cell) outputs.push_back(c);
  m.record(outputs, inputs, std::move(kept),
           [call, sums, library = !unrolled](Machine& mm, const Gradients& g, const GradNode& n) {
             return backward_of(mm, call, sums, library, g, n);
           });
  return outputs;
}

}  // namespace plimsoll::eager
