// Recurrent layers.
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// x [time, batch, in], w [directions, gates*hidden, in], r [directions, gates*hidden, hidden] ->
// y [time, directions, batch, hidden], the last state [directions, batch, hidden], and an LSTM's
// last cell. With layout 1 the batch comes first.
Result<void> recurrent(InferContext& c, int64_t gates) {
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

Result<void> rnn(InferContext& c) { return recurrent(c, 1); }
Result<void> gru(InferContext& c) { return recurrent(c, 3); }
Result<void> lstm(InferContext& c) { return recurrent(c, 4); }

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
};

}  // namespace

std::span<const OpRow> recurrent_rows() { return kRecurrentRows; }

}  // namespace plimsoll::ops
