// Recurrent layers, attention, losses.
#include "graph/ops/lower.h"

namespace plimsoll::lower {
namespace {

Cell cell_of(const std::string& name) {
  if (name == "LSTM") return Cell::kLstm;
  if (name == "GRU") return Cell::kGru;
  return name == "RNN_RELU" ? Cell::kRnnRelu : Cell::kRnnTanh;
}

}  // namespace

// ONNX: X [T,N,I], W [D,G*H,I], R [D,G*H,H], B [D,2*G*H], sequence lengths, initial h and c.
// Y is [T,D,N,H].
Values onnx_recurrent(Lowering& l) {
  const bool bidirectional = l.attributes().string("direction", "forward") == "bidirectional";
  const eager::RecurrentOptions options{.cell = cell_of(l.node().op),
                                        .layers = 1,
                                        .directions = bidirectional ? 2 : 1,
                                        .batch_first = l.attributes().integer("layout", 0) == 1,
                                        .hidden = l.in(2).sizes()[2]};
  Values weights{l.in(1), l.in(2)};
  if (l.has(3)) weights.push_back(l.in(3));
  Values outputs = eager::recurrent(l.m, l.in(0), l.in(5), l.in(6), weights, options);
  // The library's [T,N,D*H] is seen as ONNX's [T,D,N,H].
  const Shape& s = outputs[0].sizes();
  const Value split =
      eager::view(l.m, outputs[0], {s[0], s[1], Dim(options.directions), options.hidden});
  outputs[0] = eager::permute(
      l.m, split,
      options.batch_first ? std::vector<size_t>{0, 1, 2, 3} : std::vector<size_t>{0, 2, 1, 3});
  outputs.resize(l.node().outputs.size());
  return outputs;
}

// plimsoll:Recurrent: x, then per layer and direction w_ih, w_hh, b_ih, b_hh.
Values recurrent(Lowering& l) {
  const Attributes& at = l.attributes();
  const Values weights(l.inputs().begin() + 1, l.inputs().end());
  const eager::RecurrentOptions options{.cell = cell_of(at.string("cell", "LSTM")),
                                        .layers = at.integer("layers", 1),
                                        .directions = at.integer("directions", 1),
                                        .batch_first = at.integer("batch_first", 0) != 0,
                                        .skip_input = at.integer("skip_input", 0) != 0,
                                        .hidden = l.in(2).sizes()[1]};
  Values outputs = eager::recurrent(l.m, l.in(0), {}, {}, weights, options);
  outputs.resize(l.node().outputs.size());
  return outputs;
}

// plimsoll:Attention: q, k, v as [N,heads,S,D], optional mask.
Values attention(Lowering& l) {
  const eager::AttentionOptions options{
      .causal = l.attributes().integer("causal", 0) != 0,
      .scaled = l.attributes().integer("scaled", 1) != 0,
      .dropout = l.m.recipe().mode == Mode::kInference ? 0 : l.attributes().real("dropout", 0)};
  return {eager::attention(l.m, l.in(0), l.in(1), l.in(2), l.in(3), options)};
}

Values softmax_cross_entropy(Lowering& l) {
  Values outputs{eager::cross_entropy(l.m, l.in(0), 1)};
  outputs.resize(l.node().outputs.size());
  return outputs;
}

}  // namespace plimsoll::lower
