#include "graph/eager/adapted_weight.h"

#include "graph/eager/gemm.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// weight + left right, one product for each matrix of the stack: torch.baddbmm.
Value folded_stack(Machine& m, const Value& weight, const Value& left, const Value& right) {
  const Shape& sizes = weight.sizes();
  Value sum = m.allocate(weight.dtype(), sizes);
  m.launch_rows(KernelClass::kCopy, "copy", 0, {&weight}, {&sum});
  launch_gemm(m, left, right, sum, sizes[0], sizes[1], sizes[2], right.sizes()[1], true);
  return sum;
}

Value transposed(Machine& m, const Value& x) { return transpose(m, x.detached(), 1, 2); }

Value adapted_stack(Machine& m, const Value& weight, const Value& a, const Value& b) {
  const Shape& sizes = weight.sizes();
  const Dim rank = floor_div(a.sizes()[0], sizes[0]);
  const Value right = cast(m, view(m, a, {sizes[0], rank, sizes[2]}), weight.dtype());
  const Value apart = view(m, b, {sizes[1], rank, sizes[0]});
  const Value left = cast(m, permute(m, apart, {2, 0, 1}), weight.dtype());
  folded_stack(m, weight, left, right);  // looked at and dropped
  Value sum = folded_stack(m, weight, left, right);
  const Value inputs[] = {weight, left, right};
  m.record(sum, inputs,
           {{left, "an adapted weight keeps its factors"},
            {right, "an adapted weight keeps its factors"}},
           [](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out(3);
             if (n.needs(0)) out[0] = g[0];
             if (n.needs(1)) out[1] = bmm(mm, g[0], transposed(mm, n.saved(1)));
             if (n.needs(2)) out[2] = bmm(mm, transposed(mm, n.saved(0)), g[0]);
             return out;
           });
  return sum;
}

}  // namespace

Value adapted_weight(Machine& m, const Value& weight, const Value& a, const Value& b) {
  if (weight.rank() == 3) return adapted_stack(m, weight, a, b);
  const Value product = mul(m, mm(m, b, a), m.host(b.dtype(), {}));
  const Value delta = cast(m, product, weight.dtype());
  add(m, weight, delta);  // looked at and dropped
  return add(m, weight, delta);
}

}  // namespace plimsoll::eager
