#include <algorithm>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// 1 / sqrt(x), which eager code runs as one kernel.
bool rsqrt(Finder& f, NodeId id) {
  const Node& node = f.r.node(id);
  TensorId root = kNoTensor;
  if (node.op == "Reciprocal") root = node.inputs[0];
  if (node.op == "Div" && f.r.is_number(node.inputs[0], 1)) root = node.inputs[1];
  const Node* sqrt = root == kNoTensor ? nullptr : f.r.made_by(root, "Sqrt");
  if (!sqrt || f.r.uses(root) != 1) return false;
  const size_t before = f.r.deaths();
  f.r.replace(id, "plimsoll", "Rsqrt", {sqrt->inputs[0]});
  f.note("reciprocal square root", id, before);
  return true;
}

// The operand beside a trained or constant vector; the vector goes to `weight`.
TensorId beside_weight(const Rewrite& r, const Node& node, TensorId& weight) {
  for (size_t i = 0; i < 2 && node.inputs.size() == 2; ++i) {
    TensorId w = node.inputs[i];
    if (const Node* grown = r.made_by(w, "Unsqueeze")) w = grown->inputs[0];
    const bool folded = r.tensor(w).contents && r.producer(w) == kNoNode;
    if (r.tensor(w).kind != TensorKind::kParameter && !folded) continue;
    weight = w;
    return node.inputs[1 - i];
  }
  return kNoTensor;
}

// `id` as normal * scale + bias.
struct Affine {
  TensorId normal = kNoTensor, scale = kNoTensor, bias = kNoTensor;
};

Affine affine(const Rewrite& r, NodeId id) {
  Affine a;
  if (r.node(id).op != "Add") return a;
  const TensorId scaled = beside_weight(r, r.node(id), a.bias);
  const Node* mul = scaled == kNoTensor ? nullptr : r.made_by(scaled, "Mul");
  if (mul) a.normal = beside_weight(r, *mul, a.scale);
  return a;
}

// scale * d / sqrt(mean(d * d) + eps) + bias with d = x - mean(x), as exporters wrote layer norm
// before opset 17 had it. From then on such a group is somebody's own.
bool layer_norm(Finder& f, NodeId id) {
  const Rewrite& r = f.r;
  const Affine a = affine(r, id);
  const Node* div = a.normal == kNoTensor ? nullptr : r.made_by(a.normal, "Div");
  const Node* sub = div ? r.made_by(div->inputs[0], "Sub") : nullptr;
  const Node* sqrt = div ? r.made_by(div->inputs[1], "Sqrt") : nullptr;
  const Node* shifted = sqrt ? r.made_by(sqrt->inputs[0], "Add") : nullptr;
  const Node* mean = sub ? r.made_by(sub->inputs[1], "ReduceMean") : nullptr;
  if (!shifted || !mean || mean->inputs[0] != sub->inputs[0]) return false;
  const TensorId x = sub->inputs[0];
  const Node* variance = r.made_by(shifted->inputs[0], "ReduceMean");
  if (!variance) return false;
  const Node* square = r.made_by(variance->inputs[0], "Pow");
  if (!square) square = r.made_by(variance->inputs[0], "Mul");
  if (!square || square->inputs[0] != div->inputs[0]) return false;
  const double epsilon = r.number(shifted->inputs[1]).value_or(1e-5);
  const auto axis = -static_cast<int64_t>(r.rank(a.scale));
  const size_t before = r.deaths();
  Node& node = f.r.replace(id, "", "LayerNormalization", {x, a.scale, a.bias});
  node.attributes.set("axis", axis);
  node.attributes.set("epsilon", epsilon);
  f.note("layer norm", id, before);
  return true;
}

// weight * x * rsqrt(mean(x^2) + eps), where the exporter says that it was the framework's own
// layer.
bool rms_norm(Finder& f, NodeId id) {
  const Rewrite& r = f.r;
  if (r.node(id).op != "Mul" || !r.node(id).notes.fused_norm) return false;
  TensorId scale = kNoTensor;
  const TensorId normal = beside_weight(r, r.node(id), scale);
  const Node* mul = normal == kNoTensor ? nullptr : r.made_by(normal, "Mul");
  if (!mul || !r.made_by(mul->inputs[1], "Rsqrt")) return false;
  const TensorId x = mul->inputs[0];
  const auto axis = -static_cast<int64_t>(r.rank(scale));
  const size_t before = r.deaths();
  f.r.replace(id, "", "RMSNormalization", {x, scale}).attributes.set("axis", axis);
  f.note("RMS norm", id, before);
  return true;
}

// v / |v| * g with the norm over all but the first or the last dimension: one kernel.
bool weight_norm(Finder& f, NodeId id) {
  const Rewrite& r = f.r;
  if (r.node(id).op != "Mul") return false;
  TensorId length = kNoTensor;
  const TensorId unit = beside_weight(r, r.node(id), length);
  const Node* div = unit == kNoTensor ? nullptr : r.made_by(unit, "Div");
  const Node* norm = div ? r.made_by(div->inputs[1], "ReduceL2") : nullptr;
  if (!norm || norm->inputs[0] != div->inputs[0]) return false;
  const TensorId direction = div->inputs[0];
  const size_t rank = r.rank(direction);
  const bool weights = r.tensor(direction).kind == TensorKind::kParameter;
  if (!weights || rank < 2 || r.rank(length) != rank) return false;
  if (r.extent(length, 0) == 1 && r.extent(length, rank - 1) == 1) return false;
  const size_t before = r.deaths();
  f.r.replace(id, "plimsoll", "WeightNorm", {direction, length});
  f.note("weight norm", id, before);
  return true;
}

// A norm's weight; kNoTensor where the exporter put a number in place of one that it has not.
TensorId own_weight(const Rewrite& r, TensorId weight) {
  const bool stands_in = r.number(weight) && r.tensor(weight).contents;
  return stands_in && (r.tensor(weight).from_constant_node || r.rank(weight) != 1) ? kNoTensor
                                                                                   : weight;
}

// What `id` divides by a deviation, itself or times a gain: (x - u) / sqrt(...),
// (x - u) * rsqrt(...) or gain * (x - u) / (...) ** 0.5. kNoTensor of any other node.
TensorId divided_difference(const Rewrite& r, NodeId id) {
  const Node& node = r.node(id);
  const auto root = [&](TensorId t) { return r.made_by(t, "Sqrt") || r.made_by(t, "Pow"); };
  if (node.op == "Div") return root(node.inputs[1]) ? node.inputs[0] : kNoTensor;
  for (size_t i = 0; node.op == "Mul" && i < 2; ++i) {
    if (r.made_by(node.inputs[i], "Rsqrt")) return node.inputs[1 - i];
  }
  const NodeId reader = node.op == "Mul" ? r.only_reader(node.outputs[0]) : kNoNode;
  if (reader == kNoNode || r.node(reader).op != "Div" || !root(r.node(reader).inputs[1]))
    return kNoTensor;
  TensorId gain = kNoTensor;
  return beside_weight(r, node, gain);
}

// (x - u) / sqrt((x - u).pow(2).mean() + eps): people write the difference twice, and eager code
// makes it twice, where PyTorch's older exporter merges what is equal.
bool difference_twice(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  if (!r.graph().producer.starts_with("pytorch")) return false;
  const TensorId difference = divided_difference(r, id);
  const NodeId made = difference == kNoTensor ? kNoNode : r.producer(difference);
  if (made == kNoNode || r.node(made).op != "Sub") return false;
  const auto& readers = r.readers(difference);
  const bool squared = std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return r.node(reader).op == "Pow" && r.is_number(r.node(reader).inputs[1], 2);
  });
  if (!squared || readers.size() != 2 || !r.made_by(r.node(made).inputs[1], "ReduceMean"))
    return false;
  Node again = r.node(made);
  again.outputs.clear();
  const Tensor like = r.tensor(difference);
  const size_t before = r.deaths();
  const TensorId second = r.insert_before(id, std::move(again), like.dtype, *like.shape);
  r.read_instead(id, difference, second);
  f.note("difference made twice", r.producer(second), before);
  return true;
}

// Reshape to groups, instance norm, Reshape back, scale, bias. With a group for each channel an
// exporter that folds leaves the second Reshape out.
bool group_norm(Finder& f, NodeId id) {
  const Rewrite& r = f.r;
  const Affine a = affine(r, id);
  const Node* back = a.normal == kNoTensor ? nullptr : r.made_by(a.normal, "Reshape");
  const Node* norm = r.made_by(back ? back->inputs[0] : a.normal, "InstanceNormalization");
  const Node* grouped = norm ? r.made_by(norm->inputs[0], "Reshape") : nullptr;
  const auto groups = norm ? r.extent(norm->inputs[1], 0) : std::nullopt;
  if (!grouped || !groups) return false;
  const size_t before = r.deaths();
  Node& node = f.r.replace(id, "", "GroupNormalization",
                           {grouped->inputs[0], own_weight(r, a.scale), own_weight(r, a.bias)});
  node.attributes.set("num_groups", *groups);
  f.note("group norm", id, before);
  return true;
}

// x * rsqrt(mean(x^2) + eps) * (1 + weight), as Gemma has it: an exporter that folds writes the sum
// as one vector, and names it after the addition.
bool gain_plus_one(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  if (r.node(id).op != "Mul") return false;
  TensorId gain = kNoTensor;
  const TensorId normal = beside_weight(r, r.node(id), gain);
  const Node* mul = normal == kNoTensor ? nullptr : r.made_by(normal, "Mul");
  if (!mul || !(r.made_by(mul->inputs[0], "Rsqrt") || r.made_by(mul->inputs[1], "Rsqrt")))
    return false;
  const Tensor& folded = r.tensor(gain);
  const bool sum = folded.name == "add" || folded.name.starts_with("add_");
  if (!sum || r.rank(gain) != 1 || !is_float(folded.dtype)) return false;
  const DType dtype = folded.dtype;
  const Shape shape = *folded.shape;
  const size_t before = r.deaths();
  const TensorId weight = r.add_parameter(r.node(id).name + ".weight", dtype, shape);
  Node add{.op = "Add",
           .domain = "",
           .name = r.node(id).name,
           .module = r.node(id).module,
           .attributes = {},
           .inputs = {weight, r.add_number(1)},
           .outputs = {}};
  r.read_instead(id, gain, r.insert_before(id, std::move(add), dtype, shape));
  f.note("gain of one and a weight", id, before);
  return true;
}

}  // namespace

void norms(Finder& f) {
  const bool decomposed_layer_norm = f.r.graph().opset < 17;
  for (NodeId id = 0; id < f.r.nodes(); ++id) {
    if (f.r.dead(id)) continue;
    if (decomposed_layer_norm && layer_norm(f, id)) continue;
    if (group_norm(f, id) || rms_norm(f, id) || weight_norm(f, id)) continue;
    if (gain_plus_one(f, id) || difference_twice(f, id)) continue;
    rsqrt(f, id);
  }
}

}  // namespace plimsoll::patterns
