#include <algorithm>
#include <array>
#include <cmath>

#include "graph/ir/module_path.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

constexpr double kSqrtHalf = 0.7071067811865476;
constexpr double kSqrtTwoOverPi = 0.7978845608028654;
constexpr double kTanhCubic = 0.044715;

// The factors of a product of products, whatever the order: inner products that only this one reads
// are opened. `at` itself is not counted.
std::vector<TensorId> factors(const Rewrite& r, const Node& mul) {
  std::vector<TensorId> open(mul.inputs.begin(), mul.inputs.end());
  std::vector<TensorId> flat;
  while (!open.empty() && flat.size() < 8) {
    const TensorId t = open.back();
    open.pop_back();
    const Node* inner = r.made_by(t, "Mul");
    if (inner && r.uses(t) == 1) {
      open.insert(open.end(), inner->inputs.begin(), inner->inputs.end());
    } else {
      flat.push_back(t);
    }
  }
  return flat;
}

// Takes one factor that `accept` likes out of `from`; kNoTensor where there is none.
template <class Accept>
TensorId take(std::vector<TensorId>& from, Accept accept) {
  const auto at = std::find_if(from.begin(), from.end(), accept);
  if (at == from.end()) return kNoTensor;
  const TensorId t = *at;
  from.erase(at);
  return t;
}

bool take_number(const Rewrite& r, std::vector<TensorId>& from, double value) {
  return take(from, [&](TensorId t) { return r.is_number(t, value); }) != kNoTensor;
}

// The other operand of a two-operand node whose one operand is this number.
TensorId beside_number(const Rewrite& r, const Node& node, double value) {
  if (node.inputs.size() != 2) return kNoTensor;
  if (r.is_number(node.inputs[1], value)) return node.inputs[0];
  return r.is_number(node.inputs[0], value) ? node.inputs[1] : kNoTensor;
}

// 1 + `t`: t, or kNoTensor.
TensorId argument_of_one_plus(const Rewrite& r, TensorId sum) {
  const Node* add = r.made_by(sum, "Add");
  return add ? beside_number(r, *add, 1) : kNoTensor;
}

// 1 + `op`(argument): the argument, or kNoTensor.
TensorId argument_of_one_plus(const Rewrite& r, TensorId sum, std::string_view op) {
  const TensorId value = argument_of_one_plus(r, sum);
  const Node* inner = value == kNoTensor ? nullptr : r.made_by(value, op);
  return inner ? inner->inputs[0] : kNoTensor;
}

// x where `t` is x / sqrt(2).
TensorId over_sqrt_two(const Rewrite& r, TensorId t) {
  if (const Node* div = r.made_by(t, "Div"); div && r.is_number(div->inputs[1], 1 / kSqrtHalf))
    return div->inputs[0];
  if (const Node* mul = r.made_by(t, "Mul")) return beside_number(r, *mul, kSqrtHalf);
  return kNoTensor;
}

// x where `t` is sqrt(2/pi) * (x + 0.044715 * x*x*x), the cube as products: a power was written by
// hand and runs in pieces.
TensorId tanh_argument(const Rewrite& r, TensorId t) {
  const Node* outer = r.made_by(t, "Mul");
  if (!outer) return kNoTensor;
  const TensorId sum = beside_number(r, *outer, kSqrtTwoOverPi);
  const Node* add = sum == kNoTensor ? nullptr : r.made_by(sum, "Add");
  if (!add) return kNoTensor;
  for (size_t i = 0; i < 2; ++i) {
    const TensorId x = add->inputs[i];
    const Node* cubic = r.made_by(add->inputs[1 - i], "Mul");
    if (!cubic) continue;
    std::vector<TensorId> parts = factors(r, *cubic);
    const bool scaled = take_number(r, parts, kTanhCubic);
    if (scaled && parts.size() == 3 && std::count(parts.begin(), parts.end(), x) == 3) return x;
  }
  return kNoTensor;
}

// x where `t` is sqrt(2/pi) * x * (1 + 0.044715 * x * x): Megatron's form.
TensorId factored_tanh_argument(const Rewrite& r, TensorId t) {
  const Node* outer = r.made_by(t, "Mul");
  if (!outer) return kNoTensor;
  std::vector<TensorId> parts = factors(r, *outer);
  if (parts.size() != 3 || !take_number(r, parts, kSqrtTwoOverPi)) return kNoTensor;
  for (size_t i = 0; i < 2; ++i) {
    const TensorId x = parts[i];
    const TensorId square = argument_of_one_plus(r, parts[1 - i]);
    const Node* mul = square == kNoTensor ? nullptr : r.made_by(square, "Mul");
    if (!mul) continue;
    std::vector<TensorId> inner = factors(r, *mul);
    const bool scaled = take_number(r, inner, kTanhCubic);
    if (scaled && inner.size() == 2 && inner[0] == x && inner[1] == x) return x;
  }
  return kNoTensor;
}

// Bloom runs Megatron's form as an autograd function of its own that keeps the input; elsewhere
// (transformers' "gelu_fast") it runs in pieces.
bool is_function_of_bloom(const Finder& f, const Node& mul) {
  return !f.r.graph().producer.starts_with("pytorch") || mul.module.ends_with("gelu_impl");
}

// PyTorch's exporters halve last; people who write the formula out halve x, and it runs in pieces.
bool halves_early(Finder& f, const Node& mul) {
  return f.r.graph().producer.starts_with("pytorch") && !f.r.is_number(mul.inputs[0], 0.5) &&
         !f.r.is_number(mul.inputs[1], 0.5);
}

// 0.5 * x * (1 + erf(x / sqrt(2))), or the same with tanh, in any order of the factors.
bool gelu(Finder& f, NodeId id) {
  const Rewrite& r = f.r;
  std::vector<TensorId> parts = factors(r, r.node(id));
  if (parts.size() != 3 || !take_number(r, parts, 0.5)) return false;
  for (size_t i = 0; i < 2; ++i) {
    const TensorId x = parts[i];
    const TensorId erf = argument_of_one_plus(r, parts[1 - i], "Erf");
    const TensorId tanh = argument_of_one_plus(r, parts[1 - i], "Tanh");
    const bool exact =
        erf != kNoTensor && over_sqrt_two(r, erf) == x && !halves_early(f, r.node(id));
    const bool approximate =
        tanh != kNoTensor &&
        (tanh_argument(r, tanh) == x ||
         (factored_tanh_argument(r, tanh) == x && is_function_of_bloom(f, r.node(id))));
    if (!exact && !approximate) continue;
    const size_t before = f.r.deaths();
    Node& node = f.r.replace(id, "", "Gelu", {x});
    node.attributes.set("approximate", std::string(exact ? "none" : "tanh"));
    f.note(exact ? "GELU" : "GELU (tanh)", id, before);
    return true;
  }
  return false;
}

// x * sigmoid(x), or x * hardsigmoid(x): a gate has another x.
bool self_gated(Finder& f, NodeId id, std::string_view gate, std::string_view domain,
                std::string_view op, std::string_view pattern) {
  const Node& mul = f.r.node(id);
  for (size_t i = 0; i < 2; ++i) {
    const Node* inner = f.r.made_by(mul.inputs[i], gate);
    if (!inner || inner->inputs[0] != mul.inputs[1 - i] || f.r.uses(mul.inputs[i]) != 1) continue;
    const size_t before = f.r.deaths();
    f.r.replace(id, domain, op, {mul.inputs[1 - i]});
    f.note(pattern, id, before);
    return true;
  }
  return false;
}

// x * tanh(softplus(x)).
bool mish(Finder& f, NodeId id) {
  const Node& mul = f.r.node(id);
  for (size_t i = 0; i < 2; ++i) {
    const Node* tanh = f.r.made_by(mul.inputs[i], "Tanh");
    const Node* inner = tanh ? f.r.made_by(tanh->inputs[0], "Softplus") : nullptr;
    if (!inner || inner->inputs[0] != mul.inputs[1 - i] || f.r.uses(mul.inputs[i]) != 1) continue;
    const size_t before = f.r.deaths();
    f.r.replace(id, "", "Mish", {mul.inputs[1 - i]});
    f.note("Mish", id, before);
    return true;
  }
  return false;
}

// a * sigmoid(b), where a and b are the halves of one tensor and nobody else reads them.
bool glu(Finder& f, NodeId id) {
  const Rewrite& r = f.r;
  const Node& mul = r.node(id);
  const Node* sigmoid = r.made_by(mul.inputs[1], "Sigmoid");
  const NodeId halves = r.producer(mul.inputs[0]);
  if (!sigmoid || halves == kNoNode || r.node(halves).op != "Split") return false;
  const Node& split = r.node(halves);
  const auto sole = [&](TensorId t) { return r.uses(t) == 1; };
  const bool matches = split.outputs.size() == 2 && split.outputs[0] == mul.inputs[0] &&
                       split.outputs[1] == sigmoid->inputs[0] &&
                       r.tensor(split.outputs[0]).shape == r.tensor(split.outputs[1]).shape &&
                       sole(mul.inputs[0]) && sole(mul.inputs[1]) && sole(sigmoid->inputs[0]);
  // The framework's own is one Split in the file.
  if (!matches || split.notes.chunks) return false;
  const int64_t axis = split.attributes.integer("axis", 0);
  const size_t before = r.deaths();
  Node& node = f.r.replace(id, "plimsoll", "Glu", {split.inputs[0]});
  node.attributes.set("axis", axis);
  f.note("GLU", id, before);
  return true;
}

// The sum that such an activation reads is run in place as well (`out += identity`), into the
// branch that ends in a norm and that nobody else reads; where its source line is known, it says.
void mark_residual_sum(Finder& f, NodeId sum) {
  Node& add = f.r.graph().nodes[sum];
  if (!add.notes.statements.empty()) return;
  for (size_t i = 0; i < add.inputs.size() && i < 2; ++i) {
    const Node* norm = f.r.made_by(add.inputs[i], "BatchNormalization");
    if (!norm || f.r.uses(add.inputs[i]) != 1) continue;
    add.notes.in_place = static_cast<int>(i + 1);
    return;
  }
}

// x += y, by its source line: the last sum of that line, into what it names.
void mark_written_sum(Finder& f, NodeId id) {
  Node& add = f.r.graph().nodes[id];
  const std::string_view statements = add.notes.statements;
  if (add.op != "Add" || statements.find("+=", statements.rfind(';') + 1) == statements.npos)
    return;
  const auto& readers = f.r.readers(add.outputs[0]);
  const bool last = std::none_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return f.r.node(reader).notes.statements == statements;
  });
  const Tensor& into = f.r.tensor(add.inputs[0]);
  const bool fits = into.kind == TensorKind::kValue && into.producer != kNoNode && into.shape &&
                    into.shape == f.r.tensor(add.outputs[0]).shape;
  if (last && fits) add.notes.in_place = 1;
}

// An activation straight after a convolution, a norm or a residual sum that nobody else reads is
// nearly always run in place. It frees a map where no gradient is wanted; of a leaky ReLU it is
// then the result that is kept. The file does not say.
void mark_in_place(Finder& f, NodeId id) {
  static constexpr std::array<std::string_view, 5> kActivations = {"Relu", "LeakyRelu", "Clip",
                                                                   "Silu", "HardSwish"};
  static constexpr std::array<std::string_view, 7> kBefore = {"Conv",
                                                              "ConvTranspose",
                                                              "BatchNormalization",
                                                              "InstanceNormalization",
                                                              "Gemm",
                                                              "GroupNormalization",
                                                              "Add"};
  const auto is_one_of = [](const auto& ops, const std::string& op) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  };
  Node& node = f.r.graph().nodes[id];
  if (!is_one_of(kActivations, node.op) || f.r.uses(node.inputs[0]) != 1) return;
  const NodeId before = f.r.producer(node.inputs[0]);
  if (before == kNoNode || !is_one_of(kBefore, f.r.node(before).op)) return;
  // Leaky ones are in place behind a layer (DCGAN, Darknet), not behind a sum (CSPNet); nor where
  // PyTorch's own slope says that nothing was asked for, nn.LeakyReLU(). That is in place behind
  // instance norm (nnU-Net), whose result is a view, and as "act", which timm makes so.
  const bool leaky = node.op == "LeakyRelu";
  const bool of_view = f.r.node(before).op == "InstanceNormalization";
  const bool asked = of_view || last_part(node.module) == "act";
  // Diffusion models normalise in groups before a SiLU, and none of theirs is in place.
  const bool of_groups = node.op == "Silu" && f.r.node(before).op == "GroupNormalization";
  if (of_groups && last_part(node.module) != "act") return;
  const bool default_slope = std::abs(node.attributes.real("alpha", 0.01) - 0.01) < 1e-6;
  if (leaky && (f.r.node(before).op == "Add" || (default_slope && !asked))) return;
  node.notes.of_view = leaky && of_view;
  node.notes.in_place = 1;
  if (f.r.node(before).op == "Add") mark_residual_sum(f, before);
}

// x + (a * b) * 1: torch.addcmul, whose factor the exporter writes though it is one.
bool addcmul(Finder& f, NodeId id) {
  const Rewrite& r = f.r;
  const Node& add = r.node(id);
  for (size_t i = 0; add.op == "Add" && i < 2; ++i) {
    const Node* scaled = r.made_by(add.inputs[i], "Mul");
    const TensorId inner = scaled ? beside_number(r, *scaled, 1) : kNoTensor;
    const Node* product = inner == kNoTensor ? nullptr : r.made_by(inner, "Mul");
    if (!product || r.uses(add.inputs[i]) != 1 || r.uses(inner) != 1) continue;
    const size_t before = r.deaths();
    f.r.replace(id, "plimsoll", "Addcmul",
                {add.inputs[1 - i], product->inputs[0], product->inputs[1]});
    f.note("addcmul", id, before);
    return true;
  }
  return false;
}

}  // namespace

void activations(Finder& f) {
  for (NodeId id = 0; id < f.r.nodes(); ++id) {
    if (!f.r.dead(id)) addcmul(f, id);
  }
  for (NodeId id = 0; id < f.r.nodes(); ++id) {
    const Node& node = f.r.node(id);
    if (f.r.dead(id) || node.op != "Mul" || node.inputs.size() != 2) continue;
    if (self_gated(f, id, "Sigmoid", "plimsoll", "Silu", "SiLU")) continue;
    if (self_gated(f, id, "HardSigmoid", "", "HardSwish", "hard swish")) continue;
    if (mish(f, id) || glu(f, id)) continue;
    gelu(f, id);
  }
}

void in_place(Finder& f) {
  if (f.r.graph().told) return;
  for (NodeId id = 0; id < f.r.nodes(); ++id) {
    if (f.r.dead(id)) continue;
    mark_written_sum(f, id);
    mark_in_place(f, id);
  }
}

}  // namespace plimsoll::patterns
