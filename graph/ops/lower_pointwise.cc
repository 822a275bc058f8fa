#include "graph/eager/autocast.h"
#include "graph/eager/composed.h"
#include "graph/eager/gelu_function.h"
#include "graph/ops/lower.h"

namespace plimsoll {

namespace eager {

const Value& Lowering::in(size_t i) const {
  static const Value kAbsent;
  return i < inputs_.size() ? inputs_[i] : kAbsent;
}

const std::vector<Dim>* Lowering::dims(size_t i) const {
  if (i >= node().inputs.size() || node().inputs[i] == kNoTensor) return nullptr;
  const Tensor& t = graph_.tensors[node().inputs[i]];
  return t.has_dims ? &t.dims : nullptr;
}

const std::vector<double>* Lowering::reals(size_t i) const {
  if (i >= node().inputs.size() || node().inputs[i] == kNoTensor) return nullptr;
  const Tensor& t = graph_.tensors[node().inputs[i]];
  return t.contents ? &t.contents->reals : nullptr;
}

const Shape& Lowering::out_shape(size_t i) const {
  static const Shape kNumber;
  return wants(i) ? *graph_.tensors[node().outputs[i]].shape : kNumber;
}

DType Lowering::out_dtype(size_t i) const {
  return wants(i) ? graph_.tensors[node().outputs[i]].dtype : DType::kUndefined;
}

size_t Lowering::axis(int64_t otherwise) const {
  return normalize_axis(attributes().integer("axis", otherwise), in(0).rank()).value_or(0);
}

std::vector<size_t> Lowering::axes(size_t input, size_t rank, bool all) const {
  std::vector<size_t> axes;
  const auto push = [&](int64_t axis) {
    if (const auto normal = normalize_axis(axis, rank)) axes.push_back(*normal);
  };
  if (const auto* list = attributes().get<std::vector<int64_t>>("axes")) {
    for (const int64_t axis : *list) push(axis);
  } else if (const auto* known = dims(input)) {
    for (const Dim& d : *known) push(d.constant_term());
  }
  if (axes.empty() && all && !attributes().integer("noop_with_empty_axes", 0)) {
    for (size_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  return axes;
}

}  // namespace eager

namespace lower {
namespace {

using eager::Keeps;

std::string spelled(std::string_view op) {
  std::string out;
  for (size_t i = 0; i < op.size(); ++i) {
    const char c = op[i];
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && i > 0 && !(op[i - 1] >= 'A' && op[i - 1] <= 'Z')) out += '_';
    out += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// Transcendental functions cost several operations; the count is the roofline's, not exact science.
int64_t flop_of(std::string_view op) {
  for (const std::string_view costly :
       {"Sigmoid", "Tanh", "Exp", "Log", "Erf", "Gelu", "Silu", "Swish", "Mish", "Softplus", "Elu",
        "LogSigmoid", "Selu", "Celu", "Sin", "Cos", "Pow"}) {
    if (op == costly) return 8;
  }
  return 1;
}

Keeps kept_by(const Policy& policy, std::string_view op, Keeps keeps) {
  const bool smooth = op == "Tanh" || op == "Sigmoid";
  const bool both =
      (op == "Relu" && policy.relu_keeps_input) || (smooth && policy.smooth_keeps_input);
  return both ? Keeps::kBoth : keeps;
}

Values unary(Lowering& l, Keeps own, std::string_view rule) {
  const Keeps keeps = kept_by(l.m.policy(), l.node().op, own);
  if (!l.in(0).on_device()) return {l.m.host(l.out_dtype(0), l.out_shape(0))};
  const std::string op = spelled(l.node().op);
  const bool in_place = l.node().notes.in_place != 0;
  if (eager::composes(l.m) && l.node().op == "Gelu") return {eager::composed_gelu(l.m, l.in(0))};
  return {eager::unary(l.m, op, l.in(0), keeps, rule, flop_of(l.node().op), in_place)};
}

}  // namespace

Values keep_result(Lowering& l) { return unary(l, Keeps::kResult, "keeps its result"); }
Values keep_input(Lowering& l) { return unary(l, Keeps::kInput, "keeps its input"); }
Values keep_nothing(Lowering& l) { return unary(l, Keeps::kNothing, ""); }

// com.microsoft's BiasGelu and FastGelu: a sum, where a bias is given, and its GELU.
Values biased_gelu(Lowering& l) {
  const Value x = l.has(1) ? eager::add(l.m, l.in(0), l.in(1)) : l.in(0);
  return {eager::unary(l.m, "gelu", x, Keeps::kInput, "keeps its input", flop_of("Gelu"))};
}

Values zero_gradient(Lowering& l) {
  if (!l.in(0).on_device()) return {l.m.host(l.out_dtype(0), l.out_shape(0))};
  const Value inputs[] = {l.in(0)};
  Value y = eager::map(l.m, spelled(l.node().op), inputs, l.out_dtype(0));
  l.m.record(y, inputs, {},
             [](eager::Machine& m, const eager::Gradients&, const eager::GradNode& n) {
               const eager::Layout& before = *n.edges[0].input;
               return eager::Gradients{eager::fill(m, before.dtype, before.sizes)};
             });
  return {y};
}

Values glu(Lowering& l) {
  const Value& x = l.in(0);
  Value y = l.m.allocate(x.dtype(), l.out_shape(0));
  l.m.launch_rows(KernelClass::kPointwise, "glu", y.count() * Dim(9), {&x}, {&y});
  const Value inputs[] = {x};
  l.m.record(y, inputs, {{x, "GLU keeps its input"}},
             [](eager::Machine& m, const eager::Gradients& g, const eager::GradNode& n) {
               Value dx = m.allocate(n.saved(0).dtype(), n.saved(0).sizes());
               m.launch_rows(KernelClass::kPointwise, "glu", dx.count() * Dim(8),
                             {&g[0], &n.saved(0)}, {&dx});
               return eager::Gradients{dx};
             });
  return {y};
}

namespace {

std::optional<double> bound(Lowering& l, size_t input, std::string_view attribute) {
  if (const auto* given = l.reals(input); given && !given->empty()) return (*given)[0];
  const auto* value = l.attributes().get<double>(attribute);
  return value ? std::optional(*value) : std::nullopt;
}

}  // namespace

// ReLU6 and hardtanh are one kernel each way. Otherwise it is clamp, whose backward is
// where(self >= min && self <= max, grad, 0).
Values clip(Lowering& l) {
  const auto low = bound(l, 1, "min");
  const auto high = bound(l, 2, "max");
  const bool hardtanh = (low == 0.0 && high == 6.0) || (low == -1.0 && high == 1.0);
  if (hardtanh || !l.in(0).on_device()) return unary(l, Keeps::kInput, "clamp keeps its input");
  const size_t bounds = (l.has(1) || low.has_value()) + (l.has(2) || high.has_value());
  return {eager::clamp(l.m, l.in(0), bounds)};
}

namespace {

// What one element of a convolution sums over, by its kernels [outputs, inputs of a group, ...].
Dim terms_of_kernel(const Value& kernels) { return floor_div(kernels.count(), kernels.sizes()[0]); }

}  // namespace

Values gelu_function(Lowering& l) { return {eager::gelu_function(l.m, l.in(0))}; }

Values no_gradient(Lowering& l) {
  Values outputs;
  for (size_t i = 0; i < l.node().outputs.size(); ++i) {
    if (!l.wants(i)) {
      outputs.emplace_back();
      continue;
    }
    Value y = l.m.allocate(l.out_dtype(i), l.out_shape(i));
    l.m.launch_over(KernelClass::kPointwise, spelled(l.node().op), y.count(), l.inputs(), y);
    outputs.push_back(std::move(y));
  }
  return outputs;
}

// A product of whole numbers, which its zero points and scales go with: what each element sums over
// is the last axis of its first operand, or of a convolution one kernel.
Values integer_product(Lowering& l) {
  const Value& x = l.in(0);
  const Value& w = l.in(l.inputs().size() >= 8 ? 3 : 1);
  const bool convolves = l.node().op == "ConvInteger" || l.node().op == "QLinearConv";
  const Dim terms = convolves ? terms_of_kernel(w) : x.sizes().back();
  Value y = l.m.allocate(l.out_dtype(0), l.out_shape(0));
  l.m.launch_over(KernelClass::kPointwise, spelled(l.node().op), y.count() * terms * Dim(2),
                  l.inputs(), y);
  return {y};
}

namespace {

// `problem`: of both passes, where it is not the plain one of what they write.
Values keeping_inputs(Lowering& l, const Dim& flop_of_each,
                      const std::optional<ProblemOf<Dim>>& problem = std::nullopt) {
  Values outputs;
  std::vector<eager::Kept> kept;
  for (const Value& v : l.inputs()) {
    if (v.defined()) kept.push_back({v, "keeps its inputs"});
  }
  for (size_t i = 0; i < l.node().outputs.size(); ++i) {
    outputs.push_back(l.wants(i) ? l.m.allocate(l.out_dtype(i), l.out_shape(i)) : Value());
  }
  const std::string op = spelled(l.node().op);
  l.m.launch_over(KernelClass::kPointwise, op, outputs[0].count() * flop_of_each, l.inputs(),
                  outputs[0], problem);
  l.m.record(outputs, l.inputs(), std::move(kept),
             [op, problem](eager::Machine& m, const eager::Gradients& g, const eager::GradNode& n) {
               eager::Gradients out(n.edges.size());
               for (size_t i = 0; i < out.size(); ++i) {
                 if (!n.needs(i)) continue;
                 out[i] = m.allocate(n.edges[i].input->dtype, n.edges[i].input->sizes);
                 m.launch_over(KernelClass::kPointwise, op, out[i].count(), g, out[i], problem);
               }
               return out;
             });
  return outputs;
}

}  // namespace

Values keep_inputs(Lowering& l) { return keeping_inputs(l, Dim(1)); }
// torchvision's: gathered columns, and a product with the kernels. Rows are samples, of the columns
// that all channels have of each.
Values deform_conv(Lowering& l) {
  const Shape& kernels = l.in(1).sizes();
  const Shape& out = l.out_shape(0);
  const Dim window = floor_div(l.in(1).count(), kernels[0] * kernels[1]);
  const Dim plane = floor_div(elements(out), out[0] * out[1]);
  const RowsProblem<Dim> columns{out[0], l.in(0).sizes()[1] * window * plane};
  return keeping_inputs(l, terms_of_kernel(l.in(1)) * Dim(2), columns);
}

Values create(Lowering& l) {
  Values outputs;
  for (size_t i = 0; i < l.node().outputs.size(); ++i) {
    outputs.push_back(l.wants(i) ? l.m.host(l.out_dtype(i), l.out_shape(i)) : Value());
  }
  return outputs;
}

Values random(Lowering& l) {
  Values outputs;
  for (size_t i = 0; i < l.node().outputs.size(); ++i) {
    outputs.push_back(l.wants(i) ? eager::fill(l.m, l.out_dtype(i), l.out_shape(i)) : Value());
  }
  return outputs;
}

// In place (as recover() marks it) it is the result that backward reads.
Values leaky_relu(Lowering& l) { return l.node().notes.in_place ? keep_result(l) : keep_input(l); }

// x / (1 + |x|), in pieces.
Values softsign(Lowering& l) {
  const Value& x = l.in(0);
  Value under = eager::unary(l.m, "abs", x, Keeps::kInput, "abs keeps its input");
  under = eager::add(l.m, under, l.m.host(x.dtype(), {}));
  return {eager::div(l.m, x, under)};
}

Values prelu(Lowering& l) {
  return {eager::binary_keeping_both(l.m, "prelu", eager::to_autocast(l.m, l.in(0)),
                                     eager::to_autocast(l.m, l.in(1)))};
}

// Into one of its operands, 1 or 2, where recover() says so and types and sizes allow it.
Values add(Lowering& l) {
  const auto into = static_cast<size_t>(l.node().notes.in_place);
  if (into == 1 || into == 2) {
    const Value& x = l.in(into - 1);
    const Value& other = l.in(2 - into);
    const bool fits = x.on_device() && x.sizes() == l.out_shape(0) &&
                      is_float(x.dtype()) == is_float(other.dtype());
    if (fits) return {eager::add_in_place(l.m, x, other)};
  }
  return {eager::add(l.m, l.in(0), l.in(1))};
}
Values sub(Lowering& l) { return {eager::add(l.m, l.in(0), l.in(1), "sub")}; }
Values mul(Lowering& l) { return {eager::mul(l.m, l.in(0), l.in(1))}; }
Values div(Lowering& l) { return {eager::div(l.m, l.in(0), l.in(1))}; }
Values pow(Lowering& l) { return {eager::power(l.m, l.in(0), l.in(1))}; }

Values keep_both(Lowering& l) {
  Value y = l.in(0);
  const bool extremum = l.node().op == "Max" || l.node().op == "Min";
  for (size_t i = 1; i < l.inputs().size(); ++i) {
    if (extremum && l.in(i).on_device()) {
      y = eager::extremum(l.m, spelled(l.node().op), y, l.in(i));
      continue;
    }
    y = eager::binary_keeping_both(l.m, spelled(l.node().op), y, l.in(i));
  }
  return {y};
}

Values sum(Lowering& l) {
  Value y = l.in(0);
  for (size_t i = 1; i < l.inputs().size(); ++i) y = eager::add(l.m, y, l.in(i));
  return {y};
}

Values mean(Lowering& l) {
  const Value total = sum(l)[0];
  return {eager::div(l.m, total, l.m.host(total.dtype(), {}))};
}

Values addcmul(Lowering& l) { return {eager::addcmul(l.m, l.in(0), l.in(1), l.in(2))}; }
Values where(Lowering& l) { return {eager::where(l.m, l.in(0), l.in(1), l.in(2))}; }
Values cast(Lowering& l) { return {eager::cast(l.m, l.in(0), l.out_dtype(0))}; }
Values identity(Lowering& l) { return {l.in(0)}; }

Values dropout(Lowering& l) {
  const Recipe& recipe = l.m.recipe();
  double ratio = l.attributes().real("ratio", 0.5);
  if (const auto* given = l.reals(1); given && !given->empty()) ratio = (*given)[0];
  if (recipe.assumed_dropout) ratio = *recipe.assumed_dropout;
  if (recipe.mode == Mode::kInference || recipe.ignore_dropout || ratio <= 0) return {l.in(0)};
  return {eager::dropout(l.m, l.in(0))};
}

}  // namespace lower
}  // namespace plimsoll
