// Recurrent layers, attention, losses.
#include "graph/eager/delta_rule.h"
#include "graph/eager/state_space.h"
#include "graph/ops/lower.h"

namespace plimsoll::lower {
namespace {

Cell cell_of(const std::string& name) {
  if (name == "LSTM" || name == "lstm") return Cell::kLstm;
  if (name == "GRU" || name == "gru") return Cell::kGru;
  return name == "rnn_relu" ? Cell::kRnnRelu : Cell::kRnnTanh;
}

// The library's [T,N,D*H] is seen as ONNX's [T,D,N,H].
Value directions_apart(Lowering& l, const Value& y, const eager::RecurrentOptions& options) {
  const Shape& s = y.sizes();
  const Value split = eager::view(l.m, y, {s[0], s[1], Dim(options.directions), options.hidden});
  return eager::permute(
      l.m, split,
      options.batch_first ? std::vector<size_t>{0, 1, 2, 3} : std::vector<size_t>{0, 2, 1, 3});
}

}  // namespace

// ONNX: X [T,N,I], W [D,G*H,I], R [D,G*H,H], B [D,2*G*H], sequence lengths, initial h and c.
// Y is [T,D,N,H]. With layout 1 the batch comes first in all of them.
Values onnx_recurrent(Lowering& l) {
  const bool bidirectional = l.attributes().string("direction", "forward") == "bidirectional";
  const eager::RecurrentOptions options{.cell = cell_of(l.node().op),
                                        .layers = 1,
                                        .directions = bidirectional ? 2 : 1,
                                        .batch_first = l.attributes().integer("layout", 0) == 1,
                                        .hidden = l.in(2).sizes()[2]};
  Values weights{l.in(1), l.in(2)};
  if (l.has(3)) weights.push_back(l.in(3));
  // The library has states as [D,N,H].
  const auto state = [&](const Value& s) {
    return options.batch_first && s.defined() ? eager::transpose(l.m, s, 0, 1) : s;
  };
  Values outputs = eager::recurrent(l.m, l.in(0), state(l.in(5)), state(l.in(6)), weights, options);
  outputs[0] = directions_apart(l, outputs[0], options);
  for (size_t i = 1; i < outputs.size(); ++i) outputs[i] = state(outputs[i]);
  outputs.resize(l.node().outputs.size());
  return outputs;
}

// plimsoll:Recurrent: x; per layer and direction w_ih, w_hh, b_ih, b_hh (any of them may be absent
// but w_hh); the first h and c, where they are not zeros. `apart`: y as ONNX has it.
Values recurrent(Lowering& l) {
  const Attributes& at = l.attributes();
  const eager::RecurrentOptions options{.cell = cell_of(at.string("cell", "lstm")),
                                        .layers = at.integer("layers", 1),
                                        .directions = at.integer("directions", 1),
                                        .batch_first = at.integer("batch_first", 0) != 0,
                                        .skip_input = at.integer("skip_input", 0) != 0,
                                        .unrolled = at.integer("unrolled", 0) != 0,
                                        .gate_norm = at.integer("gate_norm", 0) != 0,
                                        .hidden = l.in(2).sizes()[1]};
  const auto count = static_cast<size_t>(4 * options.layers * options.directions);
  Values weights;
  for (size_t i = 1; i <= count; ++i) {
    if (l.has(i)) weights.push_back(l.in(i));
  }
  Values outputs =
      eager::recurrent(l.m, l.in(0), l.in(count + 1), l.in(count + 2), weights, options);
  if (at.integer("apart", 0) != 0) outputs[0] = directions_apart(l, outputs[0], options);
  outputs.resize(l.node().outputs.size());
  return outputs;
}

// plimsoll:RecurrentCell: x, h, c (absent in a GRU), weights and biases of input and state.
Values recurrent_cell(Lowering& l) {
  return eager::recurrent_cell(l.m, {.x = l.in(0),
                                     .h = l.in(1),
                                     .c = l.in(2),
                                     .input_weight = l.in(3),
                                     .hidden_weight = l.in(4),
                                     .input_bias = l.in(5),
                                     .hidden_bias = l.in(6)});
}

namespace {

double attention_dropout(Lowering& l) {
  const Recipe& recipe = l.m.recipe();
  const double written = l.attributes().real("dropout", 0);
  if (recipe.mode == Mode::kInference || recipe.ignore_dropout || written <= 0) return 0;
  return recipe.assumed_dropout.value_or(written);
}

}  // namespace

namespace {

// What stays of keys and values [N, heads, S, D] for the positions to come: those that a window
// still shows, or the latent features that both are made of.
void keep_cache(eager::Machine& m, const Value& k, const Value& v,
                const eager::AttentionOptions& options) {
  if (!options.causal || k.rank() != 4) return;
  if (options.latent > 0) {
    m.resident(k.dtype(), {k.sizes()[0], k.sizes()[2], Dim(options.latent)}, Role::kBuffer);
    return;
  }
  for (const Value* x : {&k, &v}) {
    Shape sizes = x->sizes();
    if (options.window > 0) sizes[2] = min(sizes[2], Dim(options.window));
    m.resident(x->dtype(), sizes, Role::kBuffer);
  }
}

bool returns_cache(const Recipe& recipe) {
  return recipe.returns_cache && recipe.mode == Mode::kInference && !recipe.serve;
}

}  // namespace

// plimsoll:Attention: q, k, v as [N,heads,S,D], optional mask.
Values attention(Lowering& l) {
  const Attributes& at = l.attributes();
  Value weights;
  const eager::AttentionOptions options{.causal = at.integer("causal", 0) != 0,
                                        .scaled = at.integer("scaled", 1) != 0,
                                        .padded = at.integer("padded", 0) != 0,
                                        .dropout = attention_dropout(l),
                                        .transformers = at.string("code", "") == "transformers",
                                        .grouped = at.integer("grouped", 1) != 0,
                                        .softcap = at.integer("softcap", 0) != 0,
                                        .shifted = at.integer("shifted", 0) != 0,
                                        .wide_softmax = at.integer("wide", 0) != 0,
                                        .window = at.integer("window", 0),
                                        .latent = at.integer("latent", 0),
                                        .wide_scores = at.integer("wide_scores", 0) != 0,
                                        .masked = at.integer("masked", 0) != 0,
                                        .apart = at.integer("apart", 0) != 0,
                                        .alibi = l.in(5),
                                        .by_rows = at.integer("by_rows", 0) != 0,
                                        .sinks = l.in(4),
                                        .weights = l.wants(1) ? &weights : nullptr};
  if (l.m.recipe().serve) keep_cache(l.m, l.in(1), l.in(2), options);
  if (returns_cache(l.m.recipe()) && options.transformers && options.causal) {
    for (const size_t i : {size_t{1}, size_t{2}}) l.m.return_also(eager::clone(l.m, l.in(i)));
  }
  Values outputs{eager::attention(l.m, l.in(0), l.in(1), l.in(2), l.in(3), options)};
  if (l.wants(1)) outputs.push_back(std::move(weights));
  return outputs;
}

namespace {

// What stays of all positions for those to come: a matrix for each head, in 32 bits, and what the
// convolution before it reads of the last ones (transformers 5.24, cache_utils.py,
// LinearAttentionLayer).
Value keep_states(eager::Machine& m, const eager::DeltaRuleInputs& in, int64_t kernel) {
  const Shape &k = in.key.sizes(), &v = in.value.sizes();
  const Dim features = Dim(2) * k[2] * k[3] + v[2] * v[3];
  if (kernel > 0) m.resident(in.query.dtype(), {v[0], features, Dim(kernel)}, Role::kBuffer);
  return m.resident(DType::kFloat32, {v[0], v[2], k[3], v[3]}, Role::kBuffer);
}

}  // namespace

// plimsoll:GatedDeltaRule: query, key, value [N,S,heads,D], decay and beta [N,S,heads].
Values gated_delta_rule(Lowering& l) {
  const eager::DeltaRuleInputs in{
      .query = l.in(0), .key = l.in(1), .value = l.in(2), .decay = l.in(3), .beta = l.in(4)};
  if (!l.m.recipe().serve) return {eager::gated_delta_rule(l.m, in)};
  const Value state = keep_states(l.m, in, l.attributes().integer("kernel", 0));
  const bool one = l.m.decider().is_one(in.value.sizes()[1]);
  return {one ? eager::gated_delta_step(l.m, in, state) : eager::gated_delta_rule(l.m, in)};
}

// plimsoll:StateSpaceScan: x [N,S,heads,P], dt [N,S,heads], decay [heads], b and c [N,S,groups,D],
// skip and dt's offsets [heads]. Of all positions stay a matrix for each head, in 32 bits, and what
// the convolution before it reads of the last ones.
Values state_space_scan(Lowering& l) {
  const eager::StateSpaceInputs in{.x = l.in(0),
                                   .dt = l.in(1),
                                   .decay = l.in(2),
                                   .b = l.in(3),
                                   .c = l.in(4),
                                   .skip = l.in(5),
                                   .dt_offsets = l.in(6)};
  const int64_t chunk = l.attributes().integer("chunk", 256);
  if (!l.m.recipe().serve) return {eager::state_space_scan(l.m, in, chunk)};
  const Shape &x = in.x.sizes(), &b = in.b.sizes();
  const Dim features = x[2] * x[3] + Dim(2) * b[2] * b[3];
  const int64_t kernel = l.attributes().integer("kernel", 0);
  if (kernel > 0) l.m.resident(in.x.dtype(), {x[0], features, Dim(kernel)}, Role::kBuffer);
  const Value state = l.m.resident(DType::kFloat32, {x[0], x[2], x[3], b[3]}, Role::kBuffer);
  return {l.m.decider().is_one(x[1]) ? eager::state_space_step(l.m, in, state)
                                     : eager::state_space_scan(l.m, in, chunk)};
}

// plimsoll:AdditiveScores: queries [N,T,H], keys [N,S,H], weight [H].
Values additive_scores(Lowering& l) {
  return {eager::additive_scores(l.m, l.in(0), l.in(1), l.in(2))};
}

namespace {

// [N,S,heads*D] as [N,heads,S,D].
Value heads_apart(Lowering& l, const Value& x, int64_t heads) {
  if (!x.defined() || x.rank() == 4) return x;
  const Shape& s = x.sizes();
  const Dim count(heads);
  return eager::transpose(l.m, eager::reshape(l.m, x, {s[0], s[1], count, floor_div(s[2], count)}),
                          1, 2);
}

Values attended(Lowering& l, const Value& q, const Value& k, const Value& v, const Value& mask,
                bool causal) {
  const Value y = eager::attention(l.m, q, k, v, mask, {.causal = causal});
  Values outputs(l.node().outputs.size());
  outputs[0] = y;
  if (l.out_shape(0).size() == 3)
    outputs[0] = eager::reshape(l.m, eager::transpose(l.m, y, 1, 2), l.out_shape(0));
  return outputs;
}

}  // namespace

// ONNX's Attention and MultiHeadAttention: the heads may still be joined.
Values onnx_attention(Lowering& l) {
  const Attributes& at = l.attributes();
  const int64_t shared = at.integer("num_heads", 1);
  const Value q = heads_apart(l, l.in(0), at.integer("q_num_heads", shared));
  const int64_t key_heads = at.integer("kv_num_heads", shared);
  const Value k = l.has(1) ? heads_apart(l, l.in(1), key_heads) : q;
  const Value v = l.has(2) ? heads_apart(l, l.in(2), key_heads) : k;
  const bool causal = at.integer("is_causal", at.integer("unidirectional", 0)) != 0;
  const bool standard = l.node().op == "Attention";
  return attended(l, q, k, v, standard ? l.in(3) : Value(), causal);
}

// x and the weights [in, 3*hidden] of all three operands, joined, with their bias.
Values packed_attention(Lowering& l) {
  const Value& x = l.in(0);
  const Shape& s = x.sizes();
  const Value flat = eager::reshape(l.m, x, {s[0] * s[1], s[2]});
  const Value joined =
      l.has(2) ? eager::addmm(l.m, l.in(2), flat, l.in(1)) : eager::mm(l.m, flat, l.in(1));
  const Dim third = floor_div(l.in(1).sizes()[1], 3);
  const Value rows = eager::view(l.m, joined, {s[0], s[1], third * Dim(3)});
  const Values parts = eager::split(l.m, rows, 2, {third, third, third});
  const int64_t heads = l.attributes().integer("num_heads", 1);
  return attended(l, heads_apart(l, parts[0], heads), heads_apart(l, parts[1], heads),
                  heads_apart(l, parts[2], heads), {},
                  l.attributes().integer("unidirectional", 0) != 0);
}

Values negative_log_likelihood(Lowering& l) {
  const bool reduced = l.attributes().string("reduction", "mean") != "none";
  return {eager::nll(l.m, l.in(0), l.in(1), reduced)};
}

Values softmax_cross_entropy(Lowering& l) {
  const bool reduced = l.attributes().string("reduction", "mean") != "none";
  const Value scores = eager::softmax(l.m, l.in(0), 1, true);
  Values outputs{eager::nll(l.m, scores, l.in(1), reduced)};
  if (l.wants(1)) outputs.push_back(scores);
  outputs.resize(l.node().outputs.size());
  return outputs;
}

}  // namespace plimsoll::lower
