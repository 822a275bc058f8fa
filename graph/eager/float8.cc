#include "graph/eager/float8.h"

#include <vector>

#include "graph/eager/gemm.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// tensor_to_scale(): the largest magnitude.
void scale_of(Machine& m, const Value& x) {
  const Value largest = m.allocate(DType::kFloat32, {});
  m.launch_rows(KernelClass::kReduce, "amax", x.count(), {&x}, {&largest});
}

// hp_tensor_and_scale_to_float8() of a matrix. The library reads rows of a product's left side and
// columns of its right side (float8_ops.py, preprocess_addmm()); under torch.compile, which these
// layers are meant for, one kernel casts into that order.
enum class Lies : uint8_t { kInRows, kInColumns };
Value to_float8(Machine& m, const Value& x, DType type, Lies lies) {
  Value y = lies == Lies::kInRows
                ? m.allocate(type, x.sizes())
                : transpose(m, m.allocate(type, {x.sizes()[1], x.sizes()[0]}), 0, 1);
  m.launch_rows(KernelClass::kPointwise, "cast", x.count() * Dim(2), {&x}, {&y});
  return y;
}

// a [rows, inner] times b [inner, columns].
Value float8_product(Machine& m, const Value& a, const Value& b, DType type) {
  Value c = m.allocate(type, {a.sizes()[0], b.sizes()[1]});
  launch_gemm(m, a, b, c, 1, a.sizes()[0], b.sizes()[1], a.sizes()[1], false);
  return c;
}

// Gradients have the wider range of five bits of exponent.
Gradients float8_backward(Machine& m, const Gradients& g, const GradNode& n) {
  const DType type = g[0].dtype(), narrow = *m.recipe().precision->products;
  scale_of(m, g[0]);
  Gradients out(2);
  if (n.needs(0)) {
    const Value grad = to_float8(m, g[0], DType::kFloat8E5M2, Lies::kInRows);
    scale_of(m, n.saved(1));
    out[0] = float8_product(m, grad, to_float8(m, n.saved(1), narrow, Lies::kInColumns), type);
  }
  if (n.needs(1)) {
    const Value turned = transpose(m, g[0].detached(), 0, 1);
    const Value grad = to_float8(m, turned, DType::kFloat8E5M2, Lies::kInRows);
    scale_of(m, n.saved(0));
    out[1] = float8_product(m, grad, to_float8(m, n.saved(0), narrow, Lies::kInColumns), type);
  }
  return out;
}

}  // namespace

bool in_float8(Machine& m, const Value& x, const Value& weight) {
  if (!m.recipe().precision->products || weight.rank() != 2 || !x.contiguous()) return false;
  const auto takes = [&](const Dim& extent) {
    return m.decider().equal(floor_div(extent, 16) * Dim(16), extent);
  };
  return takes(weight.sizes()[0]) && takes(weight.sizes()[1]);
}

Value float8_linear(Machine& m, const Value& x, const Value& weight, const Value& bias) {
  const Dim inner = x.sizes().back();
  const Value flat = view(m, x, {floor_div(x.count(), inner), inner});
  const DType narrow = *m.recipe().precision->products;
  // Policies of checkpoints see torch.mm() of two subclasses of tensors (float8_ops.py).
  Value y = m.kept_results(true, [&] {
               scale_of(m, flat);
               const Value left = to_float8(m, flat.detached(), narrow, Lies::kInRows);
               scale_of(m, weight);
               const Value turned = transpose(m, weight.detached(), 0, 1);
               return std::vector<Value>{float8_product(
                   m, left, to_float8(m, turned, narrow, Lies::kInColumns), x.dtype())};
             }).front();
  const Value inputs[] = {flat, weight};
  m.record(y, inputs,
           {{flat, "a float8 product keeps its input in 16 bits"},
            {weight, "a float8 product keeps its weight"}},
           float8_backward);
  Shape sizes = x.sizes();
  sizes.back() = weight.sizes()[0];
  const Value out = view(m, y, sizes);
  return bias.defined() ? add(m, out, bias) : out;
}

}  // namespace plimsoll::eager
