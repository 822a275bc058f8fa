#include <algorithm>
#include <numeric>

#include "graph/eager/autocast.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

Shape broadcast_sizes(std::span<const Value> operands, Decider& decider) {
  Shape sizes;
  for (const Value& v : operands) {
    if (sizes == v.sizes()) continue;
    if (auto joined = broadcast(sizes, v.sizes(), decider)) sizes = std::move(*joined);
  }
  return sizes;
}

// TensorIterator's rule: dimensions lie in the result as in the first operand that tells two of
// them apart; broadcast dimensions (stride 0) tell nothing.
LayoutRef result_layout(Machine& m, std::span<const Value> operands, DType dtype, Shape sizes) {
  Decider& decider = m.decider();
  const bool plain = std::all_of(operands.begin(), operands.end(),
                                 [&](const Value& v) { return !v.on_device() || v.contiguous(); });
  if (plain) return m.contiguous(dtype, std::move(sizes));
  const size_t rank = sizes.size();
  const auto stride_of = [&](const Value& v, size_t dim) -> Dim {
    const size_t added = rank - v.rank();
    if (dim < added || decider.is_one(v.sizes()[dim - added])) return 0;
    return v.strides()[dim - added];
  };
  // 1 where a must lie inside (smaller stride than) b, -1 outside, 0 untold.
  const auto inside = [&](size_t a, size_t b) {
    for (const Value& v : operands) {
      if (!v.on_device()) continue;
      const Dim sa = stride_of(v, a);
      const Dim sb = stride_of(v, b);
      if (sa == Dim(0) || sb == Dim(0) || sa == sb) continue;
      return decider.less(sa, sb) ? 1 : -1;
    }
    return 0;
  };
  std::vector<size_t> order(rank);  // innermost first
  for (size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  for (size_t i = 1; i < rank; ++i) {
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      const int side = inside(order[at], order[j]);
      if (side > 0) {
        std::swap(order[at], order[j]);
        at = j;
      } else if (side < 0) {
        break;
      }
    }
  }
  Shape strides(rank);
  Dim stride = 1;
  for (const size_t dim : order) {
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  return strided_layout(dtype, std::move(sizes), std::move(strides), decider);
}

bool on_device(std::span<const Value> operands) {
  return std::any_of(operands.begin(), operands.end(),
                     [](const Value& v) { return v.on_device(); });
}

}  // namespace

Value elementwise(Machine& m, std::string op, std::span<const Value> operands, DType dtype,
                  int64_t flop_per_element) {
  Shape sizes = broadcast_sizes(operands, m.decider());
  if (!on_device(operands)) return m.host(dtype, sizes);
  Value y = m.allocate(result_layout(m, operands, dtype, std::move(sizes)));
  m.launch_over(KernelClass::kPointwise, std::move(op), y.count() * Dim(flop_per_element), operands,
                y);
  return y;
}

Value map(Machine& m, std::string op, std::span<const Value> operands, DType dtype) {
  return elementwise(m, std::move(op), operands, dtype);
}

namespace {

// What was written into keeps its storage, and remains the view that it was.
Value written(const Value& x) {
  Value y = x.detached();
  y.set_view(x.is_view());
  return y;
}

// The backward of what was written into a view: CopySlices makes the gradient one of the whole, and
// clones the view's part of it for the operator's own (torch/csrc/autograd/functions/tensor.cpp).
struct CopiedSlice {
  Value whole, part;
};
CopiedSlice copy_slice(Machine& m, const Value& gradient) {
  return {clone(m, gradient), clone(m, gradient)};
}

Value over(Machine& m, std::string op, const Value& x, int64_t flop_per_element) {
  m.launch_rows(KernelClass::kPointwise, std::move(op), x.count() * Dim(flop_per_element), {&x},
                {&x});
  return written(x);
}

Backward add_backward(bool negated) {
  return [negated](Machine& mm, const Gradients& g, const GradNode& n) {
    Gradients out(2);
    if (n.needs(0)) out[0] = g[0];
    if (n.needs(1)) out[1] = negated ? elementwise(mm, "neg", g, g[0].dtype()) : g[0];
    return out;
  };
}

// What the derivative formula of an operator makes on the way to its result, at the result's size;
// all of it lives until the formula's statement ends (tools/autograd/derivatives.yaml).
size_t temporaries_of(std::string_view op) {
  static constexpr std::pair<std::string_view, size_t> kTemporaries[] = {
      {"abs", 1},         // grad * self.sgn()
      {"acos", 4},        // grad * -((-self * self + 1).rsqrt())
      {"acosh", 3},       // grad * (self.pow(2) - 1).rsqrt()
      {"asin", 4},        // grad * (-self * self + 1).rsqrt()
      {"asinh", 3},       // grad * (self.pow(2) + 1).rsqrt()
      {"atan", 2},        // grad / (self * self + 1)
      {"atanh", 3},       // grad * 1 / (1 - self.pow(2))
      {"cos", 2},         // grad * -self.sin()
      {"cosh", 1},        // grad * self.sinh()
      {"erf", 4},         // 2 / sqrt(pi) * exp(-(self.pow(2))) * grad
      {"reciprocal", 2},  // -grad * (result * result)
      {"rsqrt", 2},       // -0.5 * grad * result.pow(3)
      {"sin", 1},         // grad * self.cos()
      {"sinh", 1},        // grad * self.cosh()
      {"sqrt", 1},        // grad / (2 * result)
      {"tan", 2},         // grad * (1 + result.pow(2))
  };
  for (const auto& [name, count] : kTemporaries) {
    if (name == op) return count;
  }
  return 0;
}

}  // namespace

Value unary(Machine& m, std::string_view op, const Value& given, Keeps keeps, std::string_view rule,
            int64_t flop_per_element, bool in_place) {
  const Value x = wants_single(op) ? to_single(m, given) : given;
  const Value inputs[] = {x};
  const bool free = keeps == Keeps::kResult || keeps == Keeps::kNothing || !m.grad_enabled();
  const bool writes = in_place && free && x.on_device();
  const bool into_view = writes && x.is_view();
  Value y = writes ? over(m, std::string(op), x, flop_per_element)
                   : elementwise(m, std::string(op), inputs, x.dtype(), flop_per_element);
  // Written in place of x, of which autograd keeps a copy (torch/csrc/autograd/VariableType:
  // self.clone()): as large as a result of its own, and a kernel more. What is compiled writes
  // nothing in place.
  const bool copies =
      in_place && !free && m.policy().names_hold_values && m.tracks(inputs) && !m.recipe().compiled;
  if (copies) m.launch_rows(KernelClass::kCopy, "clone", 0, {&x}, {&y});
  std::vector<Kept> kept;
  if (keeps == Keeps::kInput || keeps == Keeps::kBoth) kept.push_back({x, rule});
  if (keeps == Keeps::kResult || keeps == Keeps::kBoth) kept.push_back({y, rule});
  const size_t temporaries = temporaries_of(op);
  m.record(y, inputs, std::move(kept),
           [op = std::string(op), flop_per_element, temporaries, into_view](
               Machine& mm, const Gradients& g, const GradNode& n) {
             const CopiedSlice slice = into_view ? copy_slice(mm, g[0]) : CopiedSlice{};
             std::vector<Value> operands = g;
             // Who keeps both hands both to cuDNN, whose kernel reads the result alone: the slopes
             // of ReLU, tanh and the sigmoid are functions of it.
             if (!n.kept.empty()) operands.push_back(n.kept.back().value);
             std::vector<Value> made(temporaries);
             for (Value& t : made) t = elementwise(mm, op, g, g[0].dtype());
             const Value dx = elementwise(mm, op, operands, g[0].dtype(), 2 * flop_per_element);
             return Gradients{into_view ? slice.whole : dx};
           });
  return y;
}

Value add(Machine& m, const Value& a, const Value& b, std::string_view op) {
  const Value inputs[] = {a, b};
  Value y = elementwise(m, std::string(op), inputs, common_type(inputs));
  m.record(y, inputs, {}, add_backward(op == "sub"));
  return y;
}

Value add_in_place(Machine& m, const Value& into, const Value& b) {
  const Value inputs[] = {into, b};
  m.launch_rows(KernelClass::kPointwise, "add", into.count(), {&into, &b}, {&into});
  Value y = written(into);
  if (!into.is_view()) {
    m.record(y, inputs, {}, add_backward(false));
    return y;
  }
  m.record(y, inputs, {}, [](Machine& mm, const Gradients& g, const GradNode& n) {
    const CopiedSlice slice = copy_slice(mm, g[0]);
    return Gradients{n.needs(0) ? slice.whole : Value(), n.needs(1) ? slice.part : Value()};
  });
  return y;
}

namespace {

Value product(Machine& m, const Value& a, const Value& b) {
  const Value parts[] = {a, b};
  return elementwise(m, "mul", parts, common_type(parts));
}

}  // namespace

Value mul(Machine& m, const Value& a, const Value& b) {
  const Value inputs[] = {a, b};
  Value y = elementwise(m, "mul", inputs, common_type(inputs));
  std::vector<Kept> kept(2);
  // Each factor is kept only if the other needs a gradient; host numbers have no storage to keep.
  if (b.requires_grad()) kept[0] = {a, "mul keeps the other factor"};
  if (a.requires_grad()) kept[1] = {b, "mul keeps the other factor"};
  m.record(y, inputs, std::move(kept), [](Machine& mm, const Gradients& g, const GradNode& n) {
    Gradients out(2);
    if (n.needs(0)) out[0] = product(mm, g[0], n.saved(1));
    if (n.needs(1)) out[1] = product(mm, g[0], n.saved(0));
    return out;
  });
  return y;
}

Value div(Machine& m, const Value& a, const Value& b) {
  const Value inputs[] = {a, b};
  Value y = elementwise(m, "div", inputs, common_type(inputs));
  std::vector<Kept> kept(2);
  if (b.requires_grad()) kept[0] = {a, "div keeps the dividend where the divisor needs a gradient"};
  kept[1] = {b, "div keeps the divisor"};
  m.record(y, inputs, std::move(kept), [](Machine& mm, const Gradients& g, const GradNode& n) {
    Gradients out(2);
    // The divisor's first (generated code goes by name: other, self):
    // -grad * ((self / other) / other), whose factors live until the statement ends.
    if (n.needs(1)) {
      const Value negated = elementwise(mm, "neg", g, g[0].dtype());
      const Value once_of[] = {n.saved(0), n.saved(1)};
      const Value once = elementwise(mm, "div", once_of, common_type(once_of));
      const Value twice_of[] = {once, n.saved(1)};
      out[1] = product(mm, negated, elementwise(mm, "div", twice_of, common_type(twice_of)));
    }
    if (n.needs(0)) {
      const Value parts[] = {g[0], n.saved(1)};
      out[0] = elementwise(mm, "div", parts, common_type(parts));
    }
    return out;
  });
  return y;
}

namespace {

// where(base == 0 and exponent >= 0, 0, grad * result * log(base)) of a tensor raised to a tensor;
// grad * (result * log(base)) where the base is a number.
Value exponent_gradient(Machine& m, const Value& grad, const GradNode& n) {
  const Value& base = n.saved(0);
  const Value& result = n.saved(n.kept.size() - 1);
  const Value operands[] = {result};
  if (!base.on_device()) {
    const Value scaled = elementwise(m, "mul", operands, grad.dtype());
    return product(m, grad, scaled);
  }
  const Value bases[] = {base};
  const Value zero = elementwise(m, "logical_and", bases, DType::kBool);
  const Value log = elementwise(m, "log", bases, grad.dtype());
  const Value scaled = product(m, grad, result);
  const Value parts[] = {zero, log, scaled};
  const Value chosen = elementwise(m, "where", parts, grad.dtype());
  return product(m, chosen, log);
}

// where(exponent == 0, 0, grad * (exponent * base.pow(exponent - 1)))
Value base_gradient(Machine& m, const Value& grad, const GradNode& n) {
  const Value operands[] = {n.saved(0), n.saved(1)};
  const Value less = elementwise(m, "sub", operands, grad.dtype());
  const Value raised = elementwise(m, "pow", operands, grad.dtype(), 8);
  const Value scaled = product(m, raised, n.saved(1));
  const Value whole = product(m, grad, scaled);
  const Value nothing = fill(m, grad.dtype(), {});
  const Value zero = elementwise(m, "equal", operands, DType::kBool);
  const Value parts[] = {zero, whole};
  return elementwise(m, "where", parts, grad.dtype());
}

}  // namespace

Value power(Machine& m, const Value& base_given, const Value& exponent) {
  const Value a = to_single(m, base_given);
  const Value b = to_single(m, exponent);
  const Value inputs[] = {a, b};
  Value y = elementwise(m, "pow", inputs, common_type(inputs), 8);
  std::vector<Kept> kept{{a, "pow keeps its base"}};
  if (b.on_device()) {
    kept.push_back({b, "pow keeps its exponent"});
    kept.push_back({y, "pow keeps its result"});
  }
  m.record(y, inputs, std::move(kept), [](Machine& mm, const Gradients& g, const GradNode& n) {
    Gradients out(2);
    if (n.needs(1)) out[1] = exponent_gradient(mm, g[0], n);
    if (n.needs(0) && n.kept.size() == 3) {
      out[0] = base_gradient(mm, g[0], n);
    } else if (n.needs(0)) {
      // grad * (exponent * self.pow(exponent - 1)): two temporaries
      const Value base[] = {n.saved(0)};
      const Value raised = elementwise(mm, "pow", base, g[0].dtype(), 8);
      const Value scaled_of[] = {raised};
      const Value scaled = elementwise(mm, "mul", scaled_of, g[0].dtype());
      out[0] = product(mm, g[0], scaled);
    }
    return out;
  });
  return y;
}

Value addcmul(Machine& m, const Value& x, const Value& a, const Value& b) {
  const Value inputs[] = {x, a, b};
  Value y = elementwise(m, "addcmul", inputs, common_type(inputs), 2);
  std::vector<Kept> kept(2);
  if (b.requires_grad()) kept[0] = {a, "addcmul keeps the other factor"};
  if (a.requires_grad()) kept[1] = {b, "addcmul keeps the other factor"};
  m.record(y, inputs, std::move(kept), [](Machine& mm, const Gradients& g, const GradNode& n) {
    Gradients out(3);
    if (n.needs(0)) out[0] = g[0];
    for (size_t i = 0; i < 2; ++i) {
      if (!n.needs(1 + i)) continue;
      const Value other[] = {n.saved(1 - i)};  // times a number
      out[1 + i] = product(mm, g[0], elementwise(mm, "mul", other, other[0].dtype()));
    }
    return out;
  });
  return y;
}

Value dropout(Machine& m, const Value& x) {
  if (!x.on_device()) return x;
  const Value operands[] = {x};
  Value y = m.allocate(result_layout(m, operands, x.dtype(), x.sizes()));
  const bool bytes_per_element = m.policy().dropout_mask_bytes == 1;
  Value mask = m.allocate(of_type(bytes_per_element ? DType::kBool : x.dtype(), y.layout()));
  m.launch_rows(KernelClass::kPointwise, "dropout", y.count() * Dim(2), {&x}, {&y, &mask});
  const Value inputs[] = {x};
  m.record(y, inputs, {{mask, "dropout keeps its mask"}},
           [](Machine& mm, const Gradients& g, const GradNode& n) {
             const Value parts[] = {g[0], n.saved(0)};
             return Gradients{elementwise(mm, "dropout", parts, g[0].dtype())};
           });
  return y;
}

}  // namespace plimsoll::eager
