// Scaled dot-product attention as exporters write it, its masks, and the copies around it.
#include <algorithm>
#include <numeric>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
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

// softmax(scale * q k^T + mask) v, where the scale is spread over q and k: the decomposition of the
// framework's own function. One scale on q alone, or on the product, was written by hand. At scale
// 1 the factors are absent: then the triple around the keys is the sign.
bool match(const Match& m, AttentionParts& parts) {
  const Rewrite& r = m.r;
  const auto softmax = softmax_behind(r, m["weights"], parts.dropout);
  if (!softmax || !is_last_axis(r, softmax->root())) return false;
  parts.v = m["v"];
  const TensorId scores = (*softmax)["scores"];
  const auto masked = kMasked.of(r, scores);
  const auto product = masked ? std::nullopt : kScores.of(r, scores);
  if (!masked && !product) return false;
  const Match& found = masked ? *masked : *product;
  parts.mask = found["mask"];
  bool q_scaled = false;
  bool k_scaled = false;
  parts.q = unscaled(r, found["q"], q_scaled);
  parts.keys_flipped = unscaled(r, found["k"], k_scaled);
  parts.scaled = q_scaled && k_scaled;
  return parts.scaled || (!q_scaled && !k_scaled && kTriple.of(r, parts.keys_flipped));
}

constinit const Fragment kTriangle("y = Trilu(_)");
constinit const Fragment kCompared("y = Less|LessOrEqual|Greater|GreaterOrEqual(a, b)");

// Does a mask independent of inputs tell queries apart, hence is causal, or is it the same for all?
bool is_causal(const Rewrite& r, TensorId mask) {
  std::vector<TensorId> pending{mask};
  for (size_t visited = 0; !pending.empty() && visited < 64; ++visited) {
    const TensorId t = pending.back();
    pending.pop_back();
    const NodeId id = r.producer(t);
    if (id == kNoNode) continue;
    const Node& node = r.node(id);
    if (kTriangle.at(r, id)) return true;
    const size_t rank = r.rank(t);
    if (kCompared.at(r, id) && rank >= 2 && r.extent(t, rank - 1) != 1 &&
        r.extent(t, rank - 2) != 1)
      return true;
    pending.insert(pending.end(), node.inputs.begin(), node.inputs.end());
    std::erase(pending, kNoTensor);
  }
  return false;
}

constinit const Fragment kShiftedWidth("y = Sub(_, width)"), kDistance("y = Abs(_)");

// How far from its query a key may be, by this comparison of positions: k > q - 512, |q - k| <= 64.
std::optional<int64_t> window_of(const Rewrite& r, NodeId id) {
  const auto compared = kCompared.at(r, id);
  if (!compared) return std::nullopt;
  for (const auto& [side, other] : {std::pair("a", "b"), std::pair("b", "a")}) {
    const TensorId shift = kShiftedWidth.in(r, (*compared)[side], "width");
    if (shift == kNoTensor && !kDistance.of(r, (*compared)[side])) continue;
    const auto width = r.number(shift == kNoTensor ? (*compared)[other] : shift);
    if (width && *width >= 1) return static_cast<int64_t>(*width);
  }
  return std::nullopt;
}

// Does a mask independent of inputs hide keys that are too far away? Hugging Face leaves it out
// where all keys are nearer than the window is wide (transformers/masking_utils.py).
bool hides_far_keys(const Finder& f, TensorId mask) {
  const Rewrite& r = f.r;
  std::optional<int64_t> window;
  std::vector<TensorId> pending{mask};
  for (size_t visited = 0; !pending.empty() && !window && visited < 64; ++visited) {
    const NodeId id = r.producer(pending.back());
    pending.pop_back();
    if (id == kNoNode) continue;
    window = window_of(r, id);
    for (const TensorId in : r.node(id).inputs) {
      if (in != kNoTensor && !r.tensor(in).has_dims) pending.push_back(in);
    }
  }
  const auto& shape = r.tensor(mask).shape;
  if (!window || !shape || shape->empty()) return false;
  return !f.decider || f.decider->at_most(Dim(*window), shape->back());
}

constinit const Fragment kFill("y = ConstantOfShape(_)"), kGrown("y = Expand(x)");

// A plain fill: a bias that happens to be constant, as t5's is between encoder and decoder.
bool is_fill(const Rewrite& r, TensorId t) {
  if (!r.input_independent(t) || r.is_host_number(t)) return false;
  if (kFill.of(r, t)) return true;
  if (const auto& known = r.tensor(t).contents; known && !known->reals.empty()) {
    const double first = known->reals[0];
    return std::all_of(known->reals.begin(), known->reals.end(),
                       [first](double value) { return value == first; });
  }
  return r.is_host_number(kGrown.in(r, t, "x"));
}

// The bias that a mask independent of inputs hides parts of; kNoTensor where it hides none.
TensorId masked_bias(const Rewrite& r, const Node& where) {
  if (!r.input_independent(where.inputs[0])) return kNoTensor;
  for (size_t i = 1; i < 3; ++i) {
    const TensorId bias = where.inputs[3 - i];
    if (r.is_host_number(where.inputs[i]) && (!r.input_independent(bias) || is_fill(r, bias)))
      return bias;
  }
  return kNoTensor;
}

// Each layer makes its causal mask anew, one for all samples, and hides parts of the bias with it.
// Exporters of graphs merge the layers' masks, and their masks have a row per sample.
TensorId own_mask(Finder& f, NodeId at, const Node& where, TensorId bias) {
  Rewrite& r = f.r;
  const TensorId condition = kGrown.in(r, where.inputs[0], "x");
  if (condition == kNoTensor || r.extent(condition, 0) != 1) return where.outputs[0];
  std::vector<TensorId> inputs = where.inputs;
  const auto insert = [&](Node node, TensorId like, Shape shape) {
    node.name = r.node(at).name;
    node.module = r.node(at).module;
    node.outputs.clear();
    const DType dtype = r.tensor(like).dtype;
    return r.insert_before(at, std::move(node), dtype, std::move(shape));
  };
  Node hides = where;
  if (const NodeId maker = r.producer(condition); maker != kNoNode)
    inputs[0] = insert(r.node(maker), condition, *r.tensor(condition).shape);
  hides.inputs = std::move(inputs);
  return insert(std::move(hides), bias, *r.tensor(bias).shape);
}

constinit const Fragment kSeen("y = Unsqueeze|Squeeze|Reshape|Expand(x)"), kCast("y = Cast(x)");

// What is seen in another shape, or cast to the type it has.
TensorId behind_views(const Rewrite& r, TensorId t) {
  while (true) {
    t = kSeen.behind(r, t);
    const TensorId before = kCast.in(r, t, "x");
    if (before == kNoTensor || r.tensor(before).dtype != r.tensor(t).dtype) return t;
    t = before;
  }
}

// A mask that somebody registered ("attn.mask"), which every call makes numbers of; not one that an
// exporter folded ("val_7", "onnx::Where_12").
bool is_registered(const Rewrite& r, TensorId t) {
  const Tensor& mask = r.tensor(t);
  return mask.kind == TensorKind::kParameter && mask.origin != Origin::kGenerated &&
         r.rank(t) >= 2 && mask.name.find('.') != mask.name.npos &&
         mask.name.find("::") == mask.name.npos;
}

constinit const Fragment kWhere("y = Where(_)");

// Masks independent of inputs are what eager code leaves to the kernel, or has none of; what
// remains is a bias.
TensorId data_of_mask(Finder& f, NodeId at, TensorId mask, bool& causal) {
  const Rewrite& r = f.r;
  if (mask == kNoTensor) return kNoTensor;
  if (const auto where = kWhere.of(r, mask)) {
    const TensorId bias = masked_bias(r, where->root());
    if (bias != kNoTensor && !is_causal(r, where->root().inputs[0])) return bias;
    if (bias != kNoTensor) return own_mask(f, at, Node(where->root()), bias);
  }
  if (const auto where = kWhere.of(r, behind_views(r, mask))) {
    if (is_registered(r, behind_views(r, where->root().inputs[0]))) return mask;
  }
  if (!r.input_independent(mask) || is_fill(r, mask)) return mask;
  // Each call makes numbers of the model's mask; an exporter of graphs merges them.
  const bool hides = kWhere.of(r, mask) && hides_far_keys(f, mask);
  if (hides) return f.r.node(f.r.copy_before(at, r.producer(mask))).outputs[0];
  causal = is_causal(r, mask);
  return kNoTensor;
}

// A mask that the network made, not the exporter for a function that is told to be causal.
bool has_written_mask(const Rewrite& r, TensorId mask) {
  const auto where = kWhere.of(r, mask);
  if (!where) return false;
  const std::string& condition = r.tensor(where->root().inputs[0]).name;
  return condition.find('/') == condition.npos && !condition.starts_with("val_");
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

TensorId contiguous_before(Rewrite& r, NodeId at, TensorId t) {
  const DType dtype = r.tensor(t).dtype;
  Shape shape = *r.tensor(t).shape;
  return r.insert_before(at, r.beside(at, "plimsoll", "Contiguous", {t}), dtype, std::move(shape));
}

NodeId make_attention(Finder& f, const Match& m) {
  AttentionParts parts;
  if (!match(m, parts)) return kNoNode;
  TensorId keys = keys_behind(f, parts.keys_flipped, m.at);
  if (keys == kNoTensor) return kNoNode;
  const bool written = has_written_mask(f.r, parts.mask);
  bool causal = false;
  const TensorId mask = data_of_mask(f, m.at, parts.mask, causal);
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
