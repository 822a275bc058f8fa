// Scaled dot-product attention as exporters write it, and the copies around it.
#include <algorithm>
#include <numeric>

#include "graph/rewrite/attention_mask.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {

TensorId contiguous_before(Rewrite& r, NodeId at, TensorId t) {
  const DType dtype = r.tensor(t).dtype;
  Shape shape = *r.tensor(t).shape;
  return r.insert_before(at, r.beside(at, "plimsoll", "Contiguous", {t}), dtype, std::move(shape));
}

namespace {

struct AttentionParts {
  TensorId q = kNoTensor, keys_flipped = kNoTensor, v = kNoTensor, mask = kNoTensor;
  bool scaled = false;
  double dropout = 0;
};

bool is_last_axis(const Rewrite& r, const Node& softmax) {
  const auto rank = static_cast<int64_t>(r.rank(softmax.inputs[0]));
  const int64_t axis = softmax.attributes.integer("axis", -1);
  return axis == -1 || axis == rank - 1;
}

// The guard against rows that are masked altogether.
constinit const Fragment kGuard("y = Where(IsNaN(_), _, x)");
constinit const Fragment kDropout("y = Dropout(x, ratio?)"), kSoftmax("y = Softmax(scores)");

// The Softmax behind the left operand of the second product, through dropout and the guard, which
// come in either order.
std::optional<Match> softmax_behind(const Rewrite& r, TensorId t, double& dropout) {
  t = kGuard.behind(r, t);
  if (const auto drop = kDropout.of(r, t)) {
    dropout = (*drop)["ratio"] == kNoTensor ? drop->root().attributes.real("ratio", 0.5)
                                            : r.number((*drop)["ratio"]).value_or(0.5);
    t = (*drop)["x"];
  }
  return kSoftmax.of(r, kGuard.behind(r, t));
}

constinit const Fragment kScaledOperand("y = Mul(x, #)");

// x where `t` is x times a number of the host; `t` itself otherwise.
TensorId unscaled(const Rewrite& r, TensorId t, bool& scaled) {
  const TensorId x = kScaledOperand.in(r, t, "x");
  scaled = x != kNoTensor;
  return scaled ? x : t;
}

bool swaps_last_two(const std::vector<int64_t>& perm) {
  const auto rank = static_cast<int64_t>(perm.size());
  for (int64_t i = 0; i + 2 < rank; ++i) {
    if (perm[i] != i) return false;
  }
  return rank >= 2 && perm[rank - 2] == rank - 1 && perm[rank - 1] == rank - 2;
}

// How an exporter of graphs flips keys.
constinit const Fragment kTriple("y = Reshape(Transpose(Reshape(keys)) {perm=[0,2,1]})");
constinit const Fragment kFlip("y = Transpose(x)");

// The keys as [.., T, D] where `t` is [.., D, T]: what a Transpose of the last two flips; else a
// new Transpose, of what an exporter merged with this one or, where two flips cancelled, of `t`
// itself. kNoTensor where the shape is not known.
TensorId keys_behind(Finder& f, TensorId t, NodeId at) {
  Rewrite& r = f.r;
  if (const TensorId k = kTriple.in(r, t, "keys"); k != kNoTensor) return k;
  const auto flip = kFlip.of(r, t);
  const TensorId from = flip ? (*flip)["x"] : t;
  const size_t rank = r.rank(from);
  if (rank < 3) return kNoTensor;
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), int64_t{0});
  if (flip) perm = flip->root().attributes.integers("perm");
  if (perm.size() != rank) return kNoTensor;
  if (swaps_last_two(perm)) return from;
  std::swap(perm[rank - 1], perm[rank - 2]);
  const Shape& before = *r.tensor(from).shape;
  Shape after;
  for (const int64_t axis : perm) after.push_back(before[axis]);
  Node keys = r.beside(at, "", "Transpose", {from});
  keys.attributes.set("perm", perm);
  const DType dtype = r.tensor(t).dtype;
  return r.insert_before(at, std::move(keys), dtype, std::move(after));
}

constinit const Fragment kMasked("p = MatMul(q, k); y = Add(p, mask)");
constinit const Fragment kScores("y = MatMul(q, k)");
// The scores are scaled, not what they are made of: nobody's decomposition.
constinit const Fragment kScaledScores("p = MatMul(q, k); y = Mul|Div(p, #)");
constinit const Fragment kMaskedScaled("p = MatMul(q, k); s = Mul|Div(p, #); y = Add(s, mask)");

std::optional<Match> scaled_scores(const Rewrite& r, TensorId scores) {
  if (auto masked = kMaskedScaled.of(r, scores)) return masked;
  return kScaledScores.of(r, scores);
}

// softmax(scale * q k^T + mask) v, where the scale is spread over q and k: the decomposition of the
// framework's own function. One scale on q alone, or on the product, was written by hand. At scale
// 1 the factors are absent: then the triple around the keys is the sign. All these are attention
// where whoever asks says so.
bool match(const Match& m, bool joins, AttentionParts& parts) {
  const Rewrite& r = m.r;
  const auto softmax = softmax_behind(r, m["weights"], parts.dropout);
  if (!softmax || !is_last_axis(r, softmax->root())) return false;
  parts.v = m["v"];
  const TensorId scores = (*softmax)["scores"];
  const auto masked = kMasked.of(r, scores);
  const auto product = masked ? std::nullopt : kScores.of(r, scores);
  const auto scaled = joins ? scaled_scores(r, scores) : std::nullopt;
  if (!masked && !product && !scaled) return false;
  const Match& found = masked ? *masked : product ? *product : *scaled;
  parts.mask = found["mask"];
  bool q_scaled = false;
  bool k_scaled = false;
  parts.q = unscaled(r, found["q"], q_scaled);
  parts.keys_flipped = unscaled(r, found["k"], k_scaled);
  parts.scaled = q_scaled && k_scaled;
  if (joins) {
    parts.scaled = q_scaled || k_scaled || scaled;
    return true;
  }
  return parts.scaled || (!q_scaled && !k_scaled && kTriple.of(r, parts.keys_flipped));
}

constinit const Fragment kRepeated("grown = Expand(Unsqueeze(x)); y = Reshape(grown)");

// Heads that share keys and values (enable_gqa): the kernel takes one of each per group, where the
// exporter of graphs writes Unsqueeze, Expand, Reshape. It numbers results of its own ("val_45");
// what people repeat themselves has its operator's name ("expand_3"), and is a copy.
// Hugging Face repeats where it has a mask; while it exports it always has one, which eager code
// leaves out (`left_out`) and then repeats nothing.
TensorId one_per_group(const Rewrite& r, TensorId t, bool left_out) {
  const auto repeated = kRepeated.of(r, t);
  if (!repeated || r.rank((*repeated)["x"]) != 4) return t;
  const bool by_exporter = r.tensor((*repeated)["grown"]).name.starts_with("val_");
  return by_exporter || left_out ? (*repeated)["x"] : t;
}

constinit const Fragment kFlippedHeads("y = Transpose(Reshape(_)) {perm=[0,1,3,2]}");

// Heads taken from an image, [B, heads, D, S], are made contiguous when they are flipped (MobileNet
// V4), which leaves no node. Keys and values go the same way.
bool flips_heads_of_image(const Rewrite& r, TensorId q) {
  return kFlippedHeads.of(r, q) && r.graph().exporter == Exporter::kPyTorch;
}

NodeId make_attention(Finder& f, const Match& m) {
  AttentionParts parts;
  if (!match(m, f.joins_attention, parts)) {
    if (AttentionParts by_hand; match(m, true, by_hand)) ++f.attention_in_pieces;
    return kNoNode;
  }
  TensorId keys = keys_behind(f, parts.keys_flipped, m.at);
  if (keys == kNoTensor) return kNoNode;
  const bool written = is_written_mask(f.r, parts.mask);
  const auto [mask, causal] = mask_operand(f, m.at, parts.mask);
  keys = one_per_group(f.r, keys, written && mask == kNoTensor);
  parts.v = one_per_group(f.r, parts.v, written && mask == kNoTensor);
  if (flips_heads_of_image(f.r, parts.q)) {
    for (TensorId* operand : {&parts.q, &keys, &parts.v})
      *operand = contiguous_before(f.r, m.at, *operand);
  }
  std::vector<TensorId> inputs{parts.q, keys, parts.v};
  if (mask != kNoTensor) inputs.push_back(mask);
  Node& node = f.r.replace(m.at, "plimsoll", "Attention", std::move(inputs));
  node.attributes.set("causal", int64_t{causal});
  node.attributes.set("scaled", int64_t{parts.scaled});
  node.attributes.set("dropout", parts.dropout);
  return m.at;
}

constinit const Fragment kPart("y = Gather|Shape(_)");

bool is_taken_apart(const Match& m) {
  const auto& readers = m.r.readers(m["y"]);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return kPart.at(m.r, reader).has_value();
  });
}
NodeId copy_parts(Finder& f, const Match& m) { return f.copy_for_readers(m["y"]); }

bool keeps_shape(const Match& m) {
  return m.r.tensor(m["x"]).shape && m.r.tensor(m["x"]).shape == m.r.tensor(m["y"]).shape;
}

constexpr Pattern kAttentionRows[] = {
    {.name = "scaled dot-product attention",
     .match = "y = MatMul(weights, v)",
     .build = make_attention,
     .example = "input q: f32[B,2,4,8]; input k: f32[B,2,4,8]; input v: f32[B,2,4,8];"
                "const c: f32[] = [0.6]; t = Transpose(k) {perm=[0,1,3,2]}; a = Mul(q, c);"
                "b = Mul(t, c); s = MatMul(a, b); w = Softmax(s) {axis=-1}; y = MatMul(w, v)",
     .after = "y = plimsoll:Attention(q, k, v) {causal=0, dropout=0.0, scaled=1}",
     .near_miss = "s = MatMul(a, t)"},
    // Queries, keys and values projected together: the framework makes the result contiguous, which
    // leaves no node.
    {.name = "packed attention projection",
     .match = "y = Squeeze(Transpose(Unsqueeze(_)) {perm=[3,1,2,0,4]})",
     .when = is_taken_apart,
     .build = copy_parts,
     .example = "input x: f32[4,B,3,8]; const z: i64[1] = [0]; const k: i64[1] = [3];"
                "const i: i64[] = [1]; u = Unsqueeze(x, z); t = Transpose(u) {perm=[3,1,2,0,4]};"
                "y = Squeeze(t, k); p = Gather(y, i) {axis=0}",
     .after = "u = Unsqueeze(x, z); t = Transpose(u) {perm=[3,1,2,0,4]}; y = Squeeze(t, k);"
              "\"\" = plimsoll:Contiguous(y); p = Gather(\"\", i) {axis=0}",
     .near_miss = "p = Neg(y)"},
    // A mask of keys for all heads, seen flat and apart again: a copy. The exporter of graphs
    // merges the two views to one that changes nothing.
    {.name = "repeated mask",
     .match = "x = Expand(_); y = Reshape(x)",
     .result = "y = plimsoll:Contiguous(x)",
     .when = keeps_shape,
     .example = "input m: f32[4,1,8,8]; const g: i64[4] = [4,2,8,8]; x = Expand(m, g);"
                "y = Reshape(x, g)",
     .after = "x = Expand(m, g); y = plimsoll:Contiguous(x)",
     .near_miss = "const s: i64[3] = [8,8,8]; y = Reshape(x, s)"},
};

}  // namespace

std::span<const Pattern> attention() { return kAttentionRows; }

}  // namespace plimsoll::patterns
