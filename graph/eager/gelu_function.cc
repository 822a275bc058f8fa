#include "graph/eager/gelu_function.h"

#include <string>

#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// Operators outside autograd; what one makes goes with the name that holds it.
Value apply(Machine& m, const char* op, const Value& a, const Value& b = {}) {
  const Value operands[] = {a, b.defined() ? b : m.host(a.dtype(), {})};
  return elementwise(m, op, operands, a.dtype());
}

// tanh(0.79788456 x (1 + 0.044715 x x))
Value tanh_of(Machine& m, const Value& x) {
  Value scaled = apply(m, "mul", x);
  Value inner = apply(m, "mul", x);
  inner = apply(m, "mul", inner, x);
  inner = apply(m, "add", inner);
  inner = apply(m, "mul", scaled, inner);
  scaled = {};
  return apply(m, "tanh", inner);
}

// 0.5 x ((1 - t t) (0.79788456 + 0.1070322243 x x)) + 0.5 (1 + t), t the tanh, times the gradient.
Value gelu_gradient(Machine& m, const Value& x, const Value& g) {
  const Value t = tanh_of(m, x);
  Value left = apply(m, "mul", x);
  Value inner = apply(m, "mul", t, t);
  inner = apply(m, "sub", inner);
  Value outer = apply(m, "mul", x);
  outer = apply(m, "mul", outer, x);
  outer = apply(m, "add", outer);
  inner = apply(m, "mul", inner, outer);
  outer = {};
  left = apply(m, "mul", left, inner);
  inner = {};
  Value right = apply(m, "add", t);
  right = apply(m, "mul", right);
  left = apply(m, "add", left, right);
  right = {};
  return apply(m, "mul", left, g);
}

}  // namespace

Value gelu_function(Machine& m, const Value& x) {
  if (!x.on_device()) return m.host(x.dtype(), x.sizes());
  const Value input = x.detached();
  const Value half = apply(m, "mul", input);
  Value share = tanh_of(m, input);
  share = apply(m, "add", share);
  Value y = apply(m, "mul", half, share);
  const Value inputs[] = {x};
  m.record(y, inputs, {{x, "this GELU keeps its input"}},
           [](Machine& mm, const Gradients& g, const GradNode& n) {
             return Gradients{gelu_gradient(mm, n.saved(0).detached(), g[0])};
           });
  return y;
}

}  // namespace plimsoll::eager
