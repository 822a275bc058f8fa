// Activations that exporters write in pieces, and which run in place.
#include <algorithm>
#include <cmath>

#include "graph/exporter/origin.h"
#include "graph/ir/module_path.h"
#include "graph/ops/op_row.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// Of a factored tanh: BLOOM runs it as an autograd function of its own, whose operators keep the
// input alone; elsewhere (transformers' "gelu_fast") it runs in pieces that autograd hears of.
bool is_function_of_bloom(const Match& m) { return m.root().module.ends_with("gelu_impl"); }

// The framework's own has no name for its gate; x * torch.sigmoid(x) runs in pieces. In a file of
// TorchScript's both look the same.
bool is_whole(const Match& m, std::string_view gate) {
  return m.r.graph().exporter != Exporter::kPyTorch ||
         !is_called_after(m.r.tensor(m["s"]).name, gate);
}
bool is_called_gelu(const Match& m) {
  return is_called_after(m.r.tensor(m.root().outputs[0]).name, "gelu");
}
bool is_silu(const Match& m) { return is_whole(m, "sigmoid"); }
bool is_mish(const Match& m) { return is_whole(m, "tanh"); }

// The framework's own is one Split in the file, whose second half is the gate.
bool is_glu(const Match& m) {
  return is_whole(m, "sigmoid") && m.root().inputs[0] == m["a"] &&
         m.r.tensor(m["a"]).shape == m.r.tensor(m["b"]).shape && !m.node("a").notes.chunks;
}
void set_axis_of_halves(const Match& m, Attributes& attributes) {
  attributes.set("axis", m.node("a").attributes.integer("axis", 0));
}

constexpr Pattern kActivationRows[] = {
    {.name = "SiLU",
     .match = "s = Sigmoid(x); y = Mul(x, s!)",
     .result = "y = plimsoll:Silu(x)",
     .when = is_silu,
     .example = "input x: f32[B,8]; s = Sigmoid(x); y = Mul(x, s)",
     .near_miss = "input z: f32[B,8]; y = Mul(z, s)"},
    {.name = "hard swish",
     .match = "y = Mul(x, HardSigmoid(x)!)",
     .result = "y = HardSwish(x)",
     .example = "input x: f32[B,8]; s = HardSigmoid(x); y = Mul(s, x)",
     .near_miss = "z = Neg(s)"},
    {.name = "Mish",
     .match = "s = Tanh(Softplus(x)); y = Mul(x, s!)",
     .result = "y = Mish(x)",
     .when = is_mish,
     .example = "input x: f32[B,8]; s = Softplus(x); t = Tanh(s); y = Mul(x, t)",
     .near_miss = "y = Mul(s, t)"},
    {.name = "GLU",
     .match = "a, b = Split(x); s = Sigmoid(b!); y = Mul(a!, s!)",
     .result = "y = plimsoll:Glu(x)",
     .when = is_glu,
     .set = set_axis_of_halves,
     .example = "input x: f32[B,8]; a, b = Split(x) {axis=1, num_outputs=2}; s = Sigmoid(b);"
                "y = Mul(a, s)",
     .after = "y = plimsoll:Glu(x) {axis=1}",
     .near_miss = "y = Mul(s, a)"},
    // PyTorch's exporters halve last; people who write the formula out halve x, and it runs in
    // pieces.
    {.name = "GELU",
     .exporter = Exporter::kPyTorch,
     .match = "t = Div(x, 1.41421) | Mul(x, 0.707107); y = Mul(Mul(x, Add(Erf(t), 1))!, 0.5)",
     .result = "y = Gelu(x) {approximate=\"none\"}",
     .example = "input x: f32[B,8]; const r: f32[] = [1.41421356]; const n: f32[] = [1];"
                "const h: f32[] = [0.5]; t = Div(x, r); e = Erf(t); s = Add(e, n); m = Mul(x, s);"
                "y = Mul(m, h)",
     .near_miss = "m = Mul(x, h); y = Mul(m, s)"},
    {.name = "GELU",
     .exporter = Exporter::kOther,
     .match = "t = Div(x, 1.41421) | Mul(x, 0.707107); y = Mul*(0.5, x, Add(Erf(t), 1))",
     .result = "y = Gelu(x) {approximate=\"none\"}",
     .example = "input x: f32[B,8]; const r: f32[] = [0.70710678]; const n: f32[] = [1];"
                "const h: f32[] = [0.5]; t = Mul(r, x); e = Erf(t); s = Add(n, e); m = Mul(h, x);"
                "y = Mul(m, s)",
     .near_miss = "m = Mul(h, t)"},
    // Of the newer exporter before opset 20, which calls the whole after the operator.
    {.name = "GELU",
     .exporter = Exporter::kPyTorch,
     .match = "t = Div(x, 1.41421); y = Mul(x, Mul(0.5, Add(Erf(t), 1))!)",
     .result = "y = Gelu(x) {approximate=\"none\"}",
     .when = is_called_gelu,
     .example = "input x: f32[B,8]; const r: f32[] = [1.41421356]; const n: f32[] = [1];"
                "const h: f32[] = [0.5]; t = Div(x, r); e = Erf(t); s = Add(e, n); m = Mul(h, s);"
                "gelu = Mul(x, m)",
     .after = "gelu = Gelu(x) {approximate=\"none\"}",
     .near_miss = "z = Neg(m)"},
    // The cube as products: a power was written by hand and runs in pieces.
    {.name = "GELU (tanh)",
     .match = "t = Mul(0.797885, Add(x, Mul*(0.044715, x, x, x)));"
              "y = Mul*(0.5, x, Add(Tanh(t), 1))",
     .result = "y = Gelu(x) {approximate=\"tanh\"}",
     .example = "input x: f32[B,8]; const c: f32[] = [0.044715]; const r: f32[] = [0.79788456];"
                "const n: f32[] = [1]; const h: f32[] = [0.5]; const p: f32[] = [3]; q = Mul(x, x);"
                "u = Mul(x, q); v = Mul(c, u); w = Add(x, v); t = Mul(w, r); a = Tanh(t);"
                "s = Add(a, n); m = Mul(x, h); y = Mul(m, s)",
     .near_miss = "u = Pow(x, p)"},
    {.name = "GELU (tanh)",  // Megatron's form
     .exporter = Exporter::kOther,
     .match = "t = Mul*(0.797885, x, Add(1, Mul*(0.044715, x, x)));"
              "y = Mul*(0.5, x, Add(Tanh(t), 1))",
     .result = "y = Gelu(x) {approximate=\"tanh\"}",
     .example = "input x: f32[B,8]; const c: f32[] = [0.044715]; const r: f32[] = [0.79788456];"
                "const n: f32[] = [1]; const h: f32[] = [0.5]; q = Mul(x, c); u = Mul(q, x);"
                "v = Add(u, n); w = Mul(r, x); t = Mul(w, v); a = Tanh(t); s = Add(a, n);"
                "m = Mul(x, h); y = Mul(m, s)",
     .after = "y = Gelu(x) {approximate=\"tanh\"}",
     .near_miss = "y = Add(m, s)"},
    {.name = "GELU (BLOOM)",
     .exporter = Exporter::kPyTorch,
     .match = "t = Mul*(0.797885, x, Add(1, Mul*(0.044715, x, x)));"
              "y = Mul*(0.5, x, Add(Tanh(t), 1))",
     .result = "y = plimsoll:BloomGelu(x)",
     .when = is_function_of_bloom,
     .example = "input x: f32[B,8]; const c: f32[] = [0.044715]; const r: f32[] = [0.79788456];"
                "const n: f32[] = [1]; const h: f32[] = [0.5]; q = Mul(x, c); u = Mul(q, x);"
                "v = Add(u, n); w = Mul(r, x); t = Mul(w, v); a = Tanh(t); s = Add(a, n);"
                "m = Mul(x, h); y = Mul(m, s) module=\"h.0.gelu_impl\"",
     .after = "y = plimsoll:BloomGelu(x) module=\"h.0.gelu_impl\"",
     .near_miss = "y = Mul(m, s) module=\"h.0.act\""},
};

// Does the line write into a name that the line which made the value gave it no name by? What did
// left no node: x + 0, say, with which a sum of branches begins.
bool writes_into_copy(const Rewrite& r, const Node& add) {
  const Node& maker = r.node(r.producer(add.inputs[0]));
  const auto now = parts_between(';', add.notes.statements);
  const auto then = parts_between(';', maker.notes.statements);
  if (now.size() > then.size()) return false;
  const size_t inner = now.size() - 1;
  if (!std::equal(now.begin(), now.begin() + static_cast<ptrdiff_t>(inner), then.begin()))
    return false;
  const auto file = [](std::string_view s) { return s.substr(0, s.find(':')); };
  const auto names = [](std::string_view s) {  // "x,y" of "a.py:3 x,y...", "x" of "a.py:3 x+="
    s.remove_prefix(std::min(s.find(' ') + 1, s.size()));
    return s.substr(0, std::min(s.find("+="), s.find("...")));
  };
  if (file(now[inner]) != file(then[inner]) || then[inner].find(' ') == then[inner].npos)
    return false;
  const auto given = parts_between(',', names(then[inner]));
  return std::find(given.begin(), given.end(), names(now[inner])) == given.end();
}

// x += y, by its source line: the last sum of that line, into what it names.
NodeId mark_written_sum(Finder& f, const Match& m) {
  Node& add = f.r.graph().nodes[m.at];
  const std::string_view statements = add.notes.statements;
  if (statements.find("+=", statements.rfind(';') + 1) == statements.npos) return kNoNode;
  const auto& readers = f.r.readers(add.outputs[0]);
  const bool last = std::none_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return f.r.node(reader).notes.statements == statements;
  });
  const Tensor& into = f.r.tensor(add.inputs[0]);
  const bool fits = into.kind == TensorKind::kValue && into.producer != kNoNode && into.shape &&
                    into.shape == f.r.tensor(add.outputs[0]).shape;
  if (!last || !fits) return kNoNode;
  add.notes.in_place = 1;
  if (!writes_into_copy(f.r, add)) return kNoNode;
  const TensorId x = add.inputs[0], zero = f.r.add_number(0);
  Node copy = f.r.beside(m.at, "", "Add", {x, zero});
  copy.notes.calls = f.r.node(m.at).notes.calls;
  copy.notes.statements = f.r.node(m.at).notes.statements;
  const DType dtype = f.r.tensor(x).dtype;
  Shape shape = *f.r.tensor(x).shape;
  const NodeId at = f.r.right_after(x);
  const TensorId copied = f.r.insert_before(at, std::move(copy), dtype, std::move(shape));
  f.r.read_at(m.at, 0, copied);
  return kNoNode;
}

NodeId mark(Finder& f, const Match& m) {
  f.r.graph().nodes[m.at].notes.in_place = 1;
  return kNoNode;
}

constinit const Fragment kBatchNorm("n = BatchNormalization(_)");

// The sum that such an activation reads is run in place as well (`out += identity`), into the
// branch that ends in a norm and that nobody else reads; where its source line is known, it says.
NodeId mark_with_sum(Finder& f, const Match& m) {
  Node& add = f.r.graph().nodes[f.r.producer(m["s"])];
  for (size_t i = 0; add.notes.statements.empty() && i < 2; ++i) {
    if (!kBatchNorm.of(f.r, add.inputs[i]) || f.r.uses(add.inputs[i]) != 1) continue;
    add.notes.in_place = static_cast<int>(i + 1);
    break;
  }
  return mark(f, m);
}

// No other layer has run since the one whose result it takes. Else that result waited under a name,
// and what is made of it is another value: act(x1) * x2 of two layers (StarNet).
bool runs_at_once(const Match& m) {
  for (NodeId id = m.r.producer(m["h"]) + 1; id < m.at; ++id) {
    if (!m.r.is_removed(id) && has_any(m.r.node(id), OpRow::kDense | OpRow::kConvolutional))
      return false;
  }
  return true;
}

// The bias of a linear layer of sequences is no sum of branches. Eager code shows such a layer's
// result as a view, of which an activation in place would copy its gradient: who writes ReLU behind
// one writes it out of place.
bool is_sum_of_branches(const Match& m) {
  const Node& add = m.r.node(m.r.producer(m["s"]));
  for (size_t i = 0; i < 2; ++i) {
    const NodeId maker = m.r.producer(add.inputs[i]);
    const bool product = maker != kNoNode && has(m.r.node(maker), OpRow::kDense);
    if (product && m.r.tensor(add.inputs[1 - i]).kind == TensorKind::kParameter) return false;
  }
  return true;
}

bool is_act(const Match& m) { return last_part(m.root().module) == "act"; }
bool has_slope(const Match& m) {
  return is_act(m) || std::abs(m.root().attributes.real("alpha", 0.01) - 0.01) >= 1e-6;
}

// An activation straight after a convolution, a norm or a residual sum that nobody else reads is
// nearly always run in place. It frees a map where no gradient is wanted; of a leaky ReLU it is
// then the result that is kept. The file does not say.
constexpr Pattern kInPlaceRows[] = {
    {.name = "sum in place",
     .match = "y = Add(_, _)",
     .build = mark_written_sum,
     .example =
         "input x: f32[B,8]; h = Tanh(x); y = Add(h, x) calls=\"/\" statements=\"a.py:3 h+=\"",
     .after = "h = Tanh(x); y = Add(h, x) calls=\"/\" statements=\"a.py:3 h+=\" in_place=1",
     .near_miss = "y = Add(h, x) calls=\"/\" statements=\"a.py:3 h\""},
    {.name = "activation of a layer in place",
     .match = "h = Conv|ConvTranspose|Gemm|BatchNormalization|InstanceNormalization(_);"
              "y = Relu|Clip|HardSwish|Silu(h!)",
     .when = runs_at_once,
     .build = mark,
     .example = "input x: f32[B,8,4,4]; param w: f32[8,8,1,1]; h = Conv(x, w); y = Relu(h)",
     .after = "h = Conv(x, w); y = Relu(h) in_place=1",
     .near_miss = "g = Conv(x, w); y = Relu(h)"},
    {.name = "activation of a norm in groups in place",
     .match = "y = Relu|Clip|HardSwish(GroupNormalization(_)!)",
     .build = mark,
     .example = "input x: f32[B,8,4,4]; param w: f32[8]; param b: f32[8];"
                "h = GroupNormalization(x, w, b) {num_groups=2}; y = Relu(h)",
     .after = "h = GroupNormalization(x, w, b) {num_groups=2}; y = Relu(h) in_place=1",
     .near_miss = "y = Elu(h)"},
    // Diffusion models normalise in groups before a SiLU, and none of theirs is in place.
    {.name = "SiLU of a norm in groups in place",
     .match = "y = Silu(GroupNormalization(_)!)",
     .when = is_act,
     .build = mark,
     .example = "input x: f32[B,8,4,4]; param w: f32[8]; param b: f32[8];"
                "h = GroupNormalization(x, w, b) {num_groups=2};"
                "y = plimsoll:Silu(h) module=\"block.act\"",
     .after = "h = GroupNormalization(x, w, b) {num_groups=2};"
              "y = plimsoll:Silu(h) module=\"block.act\" in_place=1",
     .near_miss = "y = plimsoll:Silu(h) module=\"block.nonlinearity\""},
    // Leaky ones are in place behind a layer (DCGAN, Darknet), not behind a sum (CSPNet); nor where
    // PyTorch's own slope says that nothing was asked for, nn.LeakyReLU(), but as "act", which timm
    // makes so.
    {.name = "leaky ReLU in place",
     .match = "h = Conv|ConvTranspose|Gemm|BatchNormalization|GroupNormalization(_);"
              "y = LeakyRelu(h!)",
     .when = has_slope,
     .build = mark,
     .example = "input x: f32[B,8,4,4]; param w: f32[8,8,1,1]; h = Conv(x, w);"
                "y = LeakyRelu(h) {alpha=0.2}",
     .after = "h = Conv(x, w); y = LeakyRelu(h) {alpha=0.2} in_place=1",
     .near_miss = "y = LeakyRelu(h) {alpha=0.01}"},
    {.name = "leaky ReLU of an instance norm in place",  // nnU-Net
     .match = "y = LeakyRelu(InstanceNormalization(_)!)",
     .build = mark,
     .example = "input x: f32[B,8,4,4]; param w: f32[8]; param b: f32[8];"
                "h = InstanceNormalization(x, w, b); y = LeakyRelu(h) {alpha=0.01}",
     .after = "h = InstanceNormalization(x, w, b);"
              "y = LeakyRelu(h) {alpha=0.01} in_place=1",
     .near_miss = "z = Neg(h)"},
    {.name = "activation of a sum in place",
     .match = "s = Add(_, _); y = Relu|Clip|HardSwish|Silu(s!)",
     .when = is_sum_of_branches,
     .build = mark_with_sum,
     .example = "input x: f32[B,8,4,4]; param w: f32[8]; param b: f32[8]; param m: f32[8];"
                "param v: f32[8]; n = BatchNormalization(x, w, b, m, v); s = Add(x, n);"
                "y = Relu(s)",
     .after = "n = BatchNormalization(x, w, b, m, v); s = Add(x, n) in_place=2;"
              "y = Relu(s) in_place=1",
     .near_miss = "z = Neg(s)"},
};

}  // namespace

std::span<const Pattern> activations() { return kActivationRows; }
std::span<const Pattern> in_place() { return kInPlaceRows; }

}  // namespace plimsoll::patterns
