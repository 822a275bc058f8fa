// Recurrent layers: ONNX's, and the composites of domain "plimsoll" that stand for PyTorch's.
#include "graph/base/try.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// x [time, batch, in], w [directions, gates*hidden, in], r [directions, gates*hidden, hidden] ->
// y [time, directions, batch, hidden], the last state [directions, batch, hidden], and an LSTM's
// last cell. With layout 1 the batch comes first.
Result<void> onnx_recurrent(InferContext& c, int64_t gates) {
  for (const size_t i : {0, 1, 2}) {
    if (auto checked = require_rank(c, i, 3, 3); !checked) return checked;
  }
  const bool both = c.attributes().string("direction", "forward") == "bidirectional";
  const Dim directions = both ? 2 : 1;
  const Dim hidden = c.shape(2)[2];
  if (c.attributes().has("hidden_size")) {
    auto same = require_equal(c, c.attributes().integer("hidden_size", 0), hidden,
                              "hidden_size and the recurrent weights");
    if (!same) return same;
  }
  for (const size_t i : {1, 2}) {
    auto same = require_equal(c, c.shape(i)[0], directions, "directions of the weights");
    if (same) same = require_equal(c, c.shape(i)[1], hidden * Dim(gates), "gates of the weights");
    if (!same) return same;
  }
  const Shape& x = c.shape(0);
  if (auto same = require_equal(c, x[2], c.shape(1)[2], "features of input and weights"); !same) {
    return same;
  }
  const bool batch_first = c.attributes().integer("layout", 0) != 0;
  const Shape y =
      batch_first ? Shape{x[0], x[1], directions, hidden} : Shape{x[0], directions, x[1], hidden};
  const Shape state =
      batch_first ? Shape{x[0], directions, hidden} : Shape{directions, x[1], hidden};
  c.set(0, c.dtype(0), y);
  c.set(1, c.dtype(0), state);
  c.set(2, c.dtype(0), state);
  return {};
}

Result<void> rnn(InferContext& c) { return onnx_recurrent(c, 1); }
Result<void> gru(InferContext& c) { return onnx_recurrent(c, 3); }
Result<void> lstm(InferContext& c) { return onnx_recurrent(c, 4); }

struct Stack {
  int64_t gates = 1, layers = 1, directions = 1;
  bool batch_first = false;
  Dim hidden;
};

Result<Stack> read_stack(InferContext& c) {
  const Attributes& at = c.attributes();
  const std::string cell = at.string("cell", "lstm");
  Stack stack{.gates = cell == "lstm"  ? 4
                       : cell == "gru" ? 3
                                       : 1,
              .layers = at.integer("layers", 1),
              .directions = at.integer("directions", 1),
              .batch_first = at.integer("batch_first", 0) != 0,
              .hidden = {}};
  const bool known = stack.gates > 1 || cell == "rnn_tanh" || cell == "rnn_relu";
  if (!known || stack.layers < 1 || stack.layers > 10000 || stack.directions < 1 ||
      stack.directions > 2) {
    return c.fail("E247",
                  "cell must be lstm, gru, rnn_tanh or rnn_relu, layers at least 1, "
                  "directions 1 or 2");
  }
  if (!c.has(2)) return c.fail("E253", "input 2, the first recurrent weight, is missing");
  TRY(require_rank(c, 2, 2, 2));
  stack.hidden = c.shape(2)[1];
  return stack;
}

// x [N,I], h and an LSTM's c [N,H], w_ih [gates*H,I], w_hh [gates*H,H], two biases.
Result<void> recurrent_cell(InferContext& c) {
  for (const size_t i : {0, 1, 3, 4}) {
    if (!c.has(i)) return c.fail("E253", "a cell takes an input, a state and two weights");
    if (auto checked = require_rank(c, i, 2, 2); !checked) return checked;
  }
  const Dim gates = c.shape(1)[1] * Dim(c.has(2) ? 4 : 3);
  for (const size_t i : {3, 4}) {
    auto same = require_equal(c, c.shape(i)[0], gates, "gates of the weights");
    if (same) same = require_equal(c, c.shape(i)[1], c.shape(i - 3)[1], "features");
    if (!same) return same;
  }
  c.set(0, c.dtype(0), c.shape(1));
  if (c.has(2)) c.set(1, c.dtype(0), c.shape(1));
  return {};
}

// x [T,N,in], or [N,T,in] where batch_first; per layer and direction w_ih, w_hh, b_ih, b_hh, any of
// which may be absent but w_hh [gates*hidden, hidden]; h0, c0 -> y, h and, of an LSTM, c.
Result<void> recurrent(InferContext& c) {
  if (auto checked = require_rank(c, 0, 3, 3); !checked) return checked;
  const auto stack = TRY(read_stack(c));
  const Dim rows = stack.hidden * Dim(stack.gates);
  const auto weights = static_cast<size_t>(4 * stack.layers * stack.directions);
  for (size_t i = 1; i <= weights; i += 4) {
    const bool first = i <= 4 * static_cast<size_t>(stack.directions);
    const Dim in = first ? c.shape(0)[2] : stack.hidden * Dim(stack.directions);
    if (c.has(i)) {
      if (auto checked = require_rank(c, i, 2, 2); !checked) return checked;
      if (auto same = require_equal(c, c.shape(i)[1], in, "input features"); !same) return same;
    }
    if (c.has(i + 1)) {
      if (auto checked = require_rank(c, i + 1, 2, 2); !checked) return checked;
      if (auto same = require_equal(c, c.shape(i + 1)[0], rows, "gates"); !same) return same;
    }
  }
  Shape y = c.shape(0);
  y[2] = stack.hidden * Dim(stack.directions);
  const Shape state{Dim(stack.layers * stack.directions), y[stack.batch_first ? 0 : 1],
                    stack.hidden};
  for (size_t i = weights + 1; i < c.inputs(); ++i) {
    if (!c.has(i)) continue;
    if (auto checked = require_rank(c, i, 3, 3); !checked) return checked;
    for (size_t axis = 0; axis < 3; ++axis) {
      if (auto same = require_equal(c, c.shape(i)[axis], state[axis], "the first state"); !same) {
        return same;
      }
    }
  }
  c.set(0, c.dtype(0), std::move(y));
  for (size_t i = 1; i < c.outputs(); ++i) c.set(i, c.dtype(0), state);
  return {};
}

// x [N, S, heads, P], dt [N, S, heads], decay [heads], b and c [N, S, groups, D], skip and offsets
// [heads] -> like x.
Result<void> state_space_scan(InferContext& c) {
  constexpr size_t kRanks[] = {4, 3, 1, 4, 4, 1, 1};
  for (size_t i = 0; i < std::size(kRanks); ++i) {
    if (auto checked = require_rank(c, i, kRanks[i], kRanks[i]); !checked) return checked;
    if (i == 3 || i == 4) continue;
    const Dim& heads = i == 0 || i == 1 ? c.shape(i)[2] : c.shape(i)[0];
    if (auto same = require_equal(c, heads, c.shape(0)[2], "heads"); !same) return same;
  }
  if (auto same = require_equal(c, c.shape(3)[3], c.shape(4)[3], "features of states"); !same)
    return same;
  c.set(0, c.dtype(0), c.shape(0));
  return {};
}

constexpr OpRow kRecurrentRows[] = {
    {.name = "GRU",
     .traits = OpRow::kRecurrent | OpRow::kOverTime | OpRow::kOneType,
     .weights = slots(1, 2, 3, 7),
     .states = slots(5, 6),
     .since = 7,
     .inputs = 3,
     .attributes = "activation_alpha activation_beta activations clip direction hidden_size layout "
                   "linear_before_reset output_sequence",
     .shape = gru,
     .lower = lower::onnx_recurrent,
     .example = "f32[S,B,8] f32[1,48,8] f32[1,48,16] {hidden_size=16} -> f32[S,1,B,16] f32[1,B,16] "
                "| flop 2304*B*S | keeps f32[1,B,16] in0 out0 u8[256*B*S] | grads in0 in1 in2"},
    {.name = "LSTM",
     .traits = OpRow::kRecurrent | OpRow::kOverTime | OpRow::kOneType,
     .weights = slots(1, 2, 3, 7),
     .states = slots(5, 6),
     .since = 7,
     .inputs = 3,
     .attributes = "activation_alpha activation_beta activations clip direction hidden_size "
                   "input_forget layout output_sequence",
     .shape = lstm,
     .lower = lower::onnx_recurrent,
     .example = "f32[S,B,8] f32[2,64,8] f32[2,64,16] {hidden_size=16, direction=\"bidirectional\"} "
                "-> f32[S,2,B,16] f32[2,B,16] f32[2,B,16] | flop 6144*B*S | keeps f32[2,B,16] "
                "f32[2,B,16] in0 out0 u8[640*B*S] | grads in0 in1 in2"},
    {.name = "RNN",
     .traits = OpRow::kRecurrent | OpRow::kOverTime | OpRow::kOneType,
     .weights = slots(1, 2, 3, 7),
     .states = slots(5, 6),
     .since = 7,
     .inputs = 3,
     .attributes = "activation_alpha activation_beta activations clip direction hidden_size layout "
                   "output_sequence",
     .shape = rnn,
     .lower = lower::onnx_recurrent,
     .example =
         "f32[B,S,8] f32[1,16,8] f32[1,16,16] {hidden_size=16, layout=1} -> f32[B,S,1,16] "
         "f32[B,1,16] | flop 768*B*S | keeps f32[1,B,16] in0 out0 u8[128*B*S] | grads in0 in1 in2"},
    {.name = "Recurrent",
     .traits = OpRow::kOverTime,
     .weights = slots_from(1),
     .domain = "plimsoll",
     .attributes = "apart batch_first cell directions dropout gate_norm layers skip_input unrolled",
     .shape = recurrent,
     .lower = lower::recurrent,
     .example = "f32[S,B,8] f32[64,8] f32[64,16] f32[64] f32[64] {cell=\"lstm\"} -> f32[S,B,16] "
                "f32[1,B,16] f32[1,B,16] | flop 3072*B*S | keeps f32[1,B,16] f32[1,B,16] in0 out0 "
                "u8[320*B*S] | grads in0 in1 in2 in3 in4"},
    {.name = "RecurrentCell",
     .traits = OpRow::kOverTime,
     .weights = slots(3, 4, 5, 6),
     .states = slots(1, 2),
     .domain = "plimsoll",
     .inputs = 2,
     .shape = recurrent_cell,
     .lower = lower::recurrent_cell,
     .example = "f32[B,8] f32[B,16] f32[B,16] f32[64,8] f32[64,16] f32[64] f32[64] -> f32[B,16] "
                "f32[B,16] | flop 3712*B | keeps f32[B,64] f32[B,64] f32[B,64] in0 in1 in2 in3 in4 "
                "out1 | grads in0 in1 in2 in3 in4 in5 in6"},
    {.name = "StateSpaceScan",
     .traits = OpRow::kOverTime,
     .domain = "plimsoll",
     .inputs = 7,
     .attributes = "chunk kernel",  // positions of a chunk; and those before this one that a causal
                                    // convolution reads too
     .shape = state_space_scan,
     .lower = lower::state_space_scan,
     .example =
         "f32[B,8,2,4] f32[B,8,2] f32[2] f32[B,8,1,4] f32[B,8,1,4] f32[2] f32[2] {chunk=8} "
         "-> f32[B,8,2,4] | flop 5648*B + 272 | keeps bool[2,2] bool[2,2] bool[8,8] bool[8,8] "
         "f32[2*B,2,16] f32[2*B,2,2] f32[2*B,4,4] f32[2*B,4,8] f32[2*B,4,8] f32[2*B,8,4] "
         "f32[2*B,8,4] f32[2*B,8,4] f32[2*B,8,4] f32[2*B,8,8] f32[B,1,8,2,1] "
         "f32[B,1,8,2,1] f32[B,1,8,2,4] f32[B,1,8,2,4] f32[B,1,8,8,2] f32[B,1,8,8,2] "
         "f32[B,8,2,4] f32[B,8,2] f32[B,8,2] f32[B,8,2] in0 in2 in5 | grads in0 in1 in2 "
         "in3 in4 in5 in6"},
};

}  // namespace

std::span<const OpRow> recurrent_rows() { return kRecurrentRows; }

}  // namespace plimsoll::ops
