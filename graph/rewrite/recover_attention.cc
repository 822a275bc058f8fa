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

// Before the guard against rows that are masked altogether.
TensorId unguarded(const Rewrite& r, TensorId t) {
  const Node* where = r.made_by(t, "Where");
  return where && r.made_by(where->inputs[0], "IsNaN") ? where->inputs[2] : t;
}

// The Softmax behind the left operand of the second product, through dropout and the guard, which
// come in either order.
const Node* softmax_behind(const Rewrite& r, TensorId t, double& dropout) {
  t = unguarded(r, t);
  if (const Node* drop = r.made_by(t, "Dropout")) {
    dropout = drop->inputs.size() > 1 ? r.number(drop->inputs[1]).value_or(0.5)
                                      : drop->attributes.real("ratio", 0.5);
    t = drop->inputs[0];
  }
  return r.made_by(unguarded(r, t), "Softmax");
}

// x where `t` is x times a number of the host; `t` itself otherwise.
TensorId unscaled(const Rewrite& r, TensorId t, bool& scaled) {
  const Node* mul = r.made_by(t, "Mul");
  scaled = false;
  for (size_t i = 0; mul && i < 2; ++i) {
    if (!r.is_host_number(mul->inputs[i])) continue;
    scaled = true;
    return mul->inputs[1 - i];
  }
  return t;
}

bool swaps_last_two(const std::vector<int64_t>& perm) {
  const auto rank = static_cast<int64_t>(perm.size());
  for (int64_t i = 0; i + 2 < rank; ++i) {
    if (perm[i] != i) return false;
  }
  return rank >= 2 && perm[rank - 2] == rank - 1 && perm[rank - 1] == rank - 2;
}

// Reshape to rank 3, Transpose [0,2,1], Reshape: how an exporter of graphs flips keys. The keys, or
// kNoTensor.
TensorId flipped_by_triple(const Rewrite& r, TensorId t) {
  const Node* outer = r.made_by(t, "Reshape");
  const Node* flip = outer ? r.made_by(outer->inputs[0], "Transpose") : nullptr;
  const Node* inner = flip ? r.made_by(flip->inputs[0], "Reshape") : nullptr;
  const bool found = inner && flip->attributes.integers("perm") == std::vector<int64_t>{0, 2, 1};
  return found ? inner->inputs[0] : kNoTensor;
}

// The keys as [.., T, D] where `t` is [.., D, T]: what a Transpose of the last two flips; else a
// new Transpose, of what an exporter merged with this one or, where two flips cancelled, of `t`
// itself. kNoTensor where the shape is not known.
TensorId keys_behind(Finder& f, TensorId t, NodeId at) {
  Rewrite& r = f.r;
  if (const TensorId k = flipped_by_triple(r, t); k != kNoTensor) return k;
  const Node* flip = r.made_by(t, "Transpose");
  const TensorId from = flip ? flip->inputs[0] : t;
  const size_t rank = r.rank(from);
  if (rank < 3) return kNoTensor;
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), int64_t{0});
  if (flip) perm = flip->attributes.integers("perm");
  if (perm.size() != rank) return kNoTensor;
  if (swaps_last_two(perm)) return from;
  std::swap(perm[rank - 1], perm[rank - 2]);
  const Shape& before = *r.tensor(from).shape;
  Shape after;
  for (const int64_t axis : perm) after.push_back(before[axis]);
  Node keys{.op = "Transpose",
            .domain = "",
            .name = r.node(at).name,
            .module = r.node(at).module,
            .attributes = {},
            .inputs = {from},
            .outputs = {}};
  keys.attributes.set("perm", perm);
  const DType dtype = r.tensor(t).dtype;
  return r.insert_before(at, std::move(keys), dtype, std::move(after));
}

// softmax(scale * q k^T + mask) v, where the scale is spread over q and k: the decomposition of the
// framework's own function. One scale on q alone, or on the product, was written by hand. At scale
// 1 the factors are absent: then the triple around the keys is the sign.
bool match(const Rewrite& r, const Node& last, AttentionParts& parts) {
  const Node* softmax = softmax_behind(r, last.inputs[0], parts.dropout);
  if (!softmax || !is_last_axis(r, *softmax)) return false;
  parts.v = last.inputs[1];
  TensorId scores = softmax->inputs[0];
  if (const Node* add = r.made_by(scores, "Add")) {
    const bool left = r.made_by(add->inputs[0], "MatMul") != nullptr;
    parts.mask = add->inputs[left ? 1 : 0];
    scores = add->inputs[left ? 0 : 1];
  }
  const Node* product = r.made_by(scores, "MatMul");
  if (!product) return false;
  bool q_scaled = false;
  bool k_scaled = false;
  parts.q = unscaled(r, product->inputs[0], q_scaled);
  parts.keys_flipped = unscaled(r, product->inputs[1], k_scaled);
  parts.scaled = q_scaled && k_scaled;
  const bool triple = flipped_by_triple(r, parts.keys_flipped) != kNoTensor;
  return parts.scaled || (!q_scaled && !k_scaled && triple);
}

// Does a mask made of shapes tell queries apart, hence is causal, or is it the same for all?
bool is_causal(const Rewrite& r, TensorId mask) {
  std::vector<TensorId> pending{mask};
  for (size_t visited = 0; !pending.empty() && visited < 64; ++visited) {
    const TensorId t = pending.back();
    pending.pop_back();
    const NodeId id = r.producer(t);
    if (id == kNoNode) continue;
    const Node& node = r.node(id);
    if (node.op == "Trilu") return true;
    const bool compares = node.op.starts_with("Less") || node.op.starts_with("Greater");
    const size_t rank = r.rank(t);
    if (compares && rank >= 2 && r.extent(t, rank - 1) != 1 && r.extent(t, rank - 2) != 1)
      return true;
    pending.insert(pending.end(), node.inputs.begin(), node.inputs.end());
    std::erase(pending, kNoTensor);
  }
  return false;
}

// How far from its query a key may be, by this comparison of positions: k > q - 512, |q - k| <= 64.
std::optional<int64_t> window_of(const Rewrite& r, const Node& node) {
  if (!node.op.starts_with("Less") && !node.op.starts_with("Greater")) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const Node* shifted = r.made_by(node.inputs[i], "Sub");
    const bool apart = r.made_by(node.inputs[i], "Abs") != nullptr;
    if (!shifted && !apart) continue;
    const auto width = r.number(shifted ? shifted->inputs[1] : node.inputs[1 - i]);
    if (width && *width >= 1) return static_cast<int64_t>(*width);
  }
  return std::nullopt;
}

// Does a mask made of shapes hide keys that are too far away? Hugging Face leaves it out where all
// keys are nearer than the window is wide (transformers/masking_utils.py).
bool hides_far_keys(const Finder& f, TensorId mask) {
  const Rewrite& r = f.r;
  std::optional<int64_t> window;
  std::vector<TensorId> pending{mask};
  for (size_t visited = 0; !pending.empty() && !window && visited < 64; ++visited) {
    const NodeId id = r.producer(pending.back());
    pending.pop_back();
    if (id == kNoNode) continue;
    window = window_of(r, r.node(id));
    for (const TensorId in : r.node(id).inputs) {
      if (in != kNoTensor && !r.tensor(in).has_dims) pending.push_back(in);
    }
  }
  const auto& shape = r.tensor(mask).shape;
  if (!window || !shape || shape->empty()) return false;
  return !f.decider || f.decider->at_most(Dim(*window), shape->back());
}

// A plain fill: a bias that happens to be constant, as t5's is between encoder and decoder.
bool is_fill(const Rewrite& r, TensorId t) {
  if (!r.made_of_shapes(t) || r.is_host_number(t)) return false;
  if (r.made_by(t, "ConstantOfShape")) return true;
  if (const auto& known = r.tensor(t).contents; known && !known->reals.empty()) {
    const double first = known->reals[0];
    return std::all_of(known->reals.begin(), known->reals.end(),
                       [first](double value) { return value == first; });
  }
  const Node* grown = r.made_by(t, "Expand");
  return grown && r.is_host_number(grown->inputs[0]);
}

// The bias that a mask made of shapes hides parts of; kNoTensor where it hides none.
TensorId masked_bias(const Rewrite& r, const Node& where) {
  if (!r.made_of_shapes(where.inputs[0])) return kNoTensor;
  for (size_t i = 1; i < 3; ++i) {
    const TensorId bias = where.inputs[3 - i];
    if (r.is_host_number(where.inputs[i]) && (!r.made_of_shapes(bias) || is_fill(r, bias)))
      return bias;
  }
  return kNoTensor;
}

// Each layer makes its causal mask anew, one for all samples, and hides parts of the bias with it.
// Exporters of graphs merge the layers' masks, and their masks have a row per sample.
TensorId own_mask(Finder& f, NodeId at, const Node& where, TensorId bias) {
  Rewrite& r = f.r;
  TensorId condition = where.inputs[0];
  const Node* grown = r.made_by(condition, "Expand");
  if (!grown || r.extent(grown->inputs[0], 0) != 1) return where.outputs[0];
  condition = grown->inputs[0];
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

// What is seen in another shape, or cast to the type it has.
TensorId behind_views(const Rewrite& r, TensorId t) {
  for (NodeId id = r.producer(t); id != kNoNode; id = r.producer(t)) {
    const Node& node = r.node(id);
    const bool same = node.op == "Unsqueeze" || node.op == "Squeeze" || node.op == "Reshape" ||
                      node.op == "Expand" ||
                      (node.op == "Cast" && r.tensor(node.inputs[0]).dtype == r.tensor(t).dtype);
    if (!same) break;
    t = node.inputs[0];
  }
  return t;
}

// A mask that somebody registered ("attn.mask"), which every call makes numbers of; not one that an
// exporter folded ("val_7", "onnx::Where_12").
bool is_registered(const Rewrite& r, TensorId t) {
  const Tensor& mask = r.tensor(t);
  return mask.kind == TensorKind::kParameter && !mask.from_constant_node && r.rank(t) >= 2 &&
         mask.name.find('.') != mask.name.npos && mask.name.find("::") == mask.name.npos;
}

// Masks made of shapes are what eager code leaves to the kernel, or has none of; what remains is a
// bias.
TensorId data_of_mask(Finder& f, NodeId at, TensorId mask, bool& causal) {
  const Rewrite& r = f.r;
  if (mask == kNoTensor) return kNoTensor;
  if (const Node* where = r.made_by(mask, "Where")) {
    const TensorId bias = masked_bias(r, *where);
    if (bias != kNoTensor && !is_causal(r, where->inputs[0])) return bias;
    if (bias != kNoTensor) return own_mask(f, at, Node(*where), bias);
  }
  if (const Node* where = r.made_by(behind_views(r, mask), "Where")) {
    if (is_registered(r, behind_views(r, where->inputs[0]))) return mask;
  }
  if (!r.made_of_shapes(mask) || is_fill(r, mask)) return mask;
  // Each call makes numbers of the model's mask; an exporter of graphs merges them.
  const bool hides = r.made_by(mask, "Where") && hides_far_keys(f, mask);
  if (hides) return f.r.node(f.r.copy_before(at, r.producer(mask))).outputs[0];
  causal = is_causal(r, mask);
  return kNoTensor;
}

// A mask that the network made, not the exporter for a function that is told to be causal.
bool has_written_mask(const Rewrite& r, TensorId mask) {
  const Node* where = mask == kNoTensor ? nullptr : r.made_by(mask, "Where");
  if (!where) return false;
  const std::string& condition = r.tensor(where->inputs[0]).name;
  return condition.find('/') == condition.npos && !condition.starts_with("val_");
}

// Heads that share keys and values (enable_gqa): the kernel takes one of each per group, where the
// exporter of graphs writes Unsqueeze, Expand, Reshape. It numbers results of its own ("val_45");
// what people repeat themselves has its operator's name ("expand_3"), and is a copy.
// Hugging Face repeats where it has a mask; while it exports it always has one, which eager code
// leaves out (`left_out`) and then repeats nothing.
TensorId one_per_group(const Rewrite& r, TensorId t, bool left_out) {
  const Node* joined = r.made_by(t, "Reshape");
  const Node* grown = joined ? r.made_by(joined->inputs[0], "Expand") : nullptr;
  const Node* apart = grown ? r.made_by(grown->inputs[0], "Unsqueeze") : nullptr;
  const bool by_exporter = apart && r.tensor(joined->inputs[0]).name.starts_with("val_");
  return apart && (by_exporter || left_out) && r.rank(apart->inputs[0]) == 4 ? apart->inputs[0] : t;
}

// Heads taken from an image, [B, heads, D, S], are made contiguous when they are flipped (MobileNet
// V4), which leaves no node. Keys and values go the same way.
bool flips_heads_of_image(Finder& f, TensorId q) {
  Rewrite& r = f.r;
  const Node* flip = r.made_by(q, "Transpose");
  return flip && flip->attributes.integers("perm") == std::vector<int64_t>{0, 1, 3, 2} &&
         r.made_by(flip->inputs[0], "Reshape") && r.graph().producer.starts_with("pytorch");
}

TensorId contiguous_before(Finder& f, NodeId at, TensorId t) {
  Rewrite& r = f.r;
  Node copy{.op = "Contiguous",
            .domain = "plimsoll",
            .name = r.node(at).name,
            .module = r.node(at).module,
            .attributes = {},
            .inputs = {t},
            .outputs = {}};
  const DType dtype = r.tensor(t).dtype;
  Shape shape = *r.tensor(t).shape;
  return r.insert_before(at, std::move(copy), dtype, std::move(shape));
}

bool scaled_dot_product(Finder& f, NodeId id) {
  AttentionParts parts;
  if (!match(f.r, f.r.node(id), parts)) return false;
  TensorId keys = keys_behind(f, parts.keys_flipped, id);
  if (keys == kNoTensor) return false;
  const bool written = has_written_mask(f.r, parts.mask);
  bool causal = false;
  const TensorId mask = data_of_mask(f, id, parts.mask, causal);
  keys = one_per_group(f.r, keys, written && mask == kNoTensor);
  parts.v = one_per_group(f.r, parts.v, written && mask == kNoTensor);
  const size_t before = f.r.deaths();
  if (flips_heads_of_image(f, parts.q)) {
    for (TensorId* operand : {&parts.q, &keys, &parts.v})
      *operand = contiguous_before(f, id, *operand);
  }
  std::vector<TensorId> inputs{parts.q, keys, parts.v};
  if (mask != kNoTensor) inputs.push_back(mask);
  Node& node = f.r.replace(id, "plimsoll", "Attention", std::move(inputs));
  node.attributes.set("causal", int64_t{causal});
  node.attributes.set("scaled", int64_t{parts.scaled});
  node.attributes.set("dropout", parts.dropout);
  f.note("scaled dot-product attention", id, before);
  return true;
}

// Queries, keys and values projected together and taken apart by Unsqueeze, Transpose [3,1,2,0,4],
// Squeeze: the framework makes the result contiguous, which leaves no node.
bool packed_projection(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node* flip =
      r.node(id).op == "Squeeze" ? r.made_by(r.node(id).inputs[0], "Transpose") : nullptr;
  if (!flip || flip->attributes.integers("perm") != std::vector<int64_t>{3, 1, 2, 0, 4} ||
      !r.made_by(flip->inputs[0], "Unsqueeze")) {
    return false;
  }
  const TensorId out = r.node(id).outputs[0];
  const std::vector<NodeId> readers = r.readers(out);
  const bool taken_apart = std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return r.node(reader).op == "Gather" || r.node(reader).op == "Shape";
  });
  if (!taken_apart || readers.empty()) return false;
  f.copy_for_readers("packed attention projection", out);
  return true;
}

// A mask of keys that is repeated for all heads, and seen flat and apart again: a copy. The
// exporter of graphs merges the two views to one that changes nothing.
bool repeated_mask(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node& node = r.node(id);
  const Tensor& seen = r.tensor(node.inputs[0]);
  if (!r.made_by(node.inputs[0], "Expand") || !seen.shape) return false;
  if (seen.shape != r.tensor(node.outputs[0]).shape) return false;
  const size_t before = r.deaths();
  r.replace(id, "plimsoll", "Contiguous", {node.inputs[0]});
  f.note("repeated mask", id, before);
  return true;
}

}  // namespace

void attention(Finder& f) {
  const size_t count = f.r.nodes();
  for (NodeId id = 0; id < count; ++id) {
    if (f.r.dead(id)) continue;
    if (f.r.node(id).op == "MatMul") scaled_dot_product(f, id);
    if (f.r.node(id).op == "Squeeze") packed_projection(f, id);
    if (f.r.node(id).op == "Reshape") repeated_mask(f, id);
  }
}

}  // namespace plimsoll::patterns
