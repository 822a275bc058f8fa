#include "graph/eager/chunks.h"

#include "graph/eager/ops.h"

namespace plimsoll::eager {

Value scalar_like(Machine& m, const Value& like) { return m.host(like.dtype(), {}); }

Value exponential(Machine& m, const Value& x) {
  return unary(m, "exp", x, Keeps::kResult, "exp keeps its result", 8);
}

Value padded(Machine& m, const Value& x, size_t axis, const Dim& length) {
  Shape sizes = x.sizes();
  const bool longer = !m.decider().equal(sizes[axis], length);
  sizes[axis] = length;
  Value y = m.allocate(longer ? m.contiguous(x.dtype(), sizes)
                              : dense_like(x.layout(), x.dtype(), m.decider()));
  m.launch_rows(KernelClass::kCopy, "pad", 0, {&x}, {&y});
  const Value inputs[] = {x};
  m.record(y, inputs, {},
           [before = x.layout_ref()](Machine& mm, const Gradients& g, const GradNode&) {
             Value dx = mm.allocate(before->dtype, before->sizes);
             mm.launch_rows(KernelClass::kCopy, "pad", 0, {&g[0]}, {&dx});
             return Gradients{dx};
           });
  return y;
}

Value masked_fill(Machine& m, const Value& x, const Value& mask) {
  Value y = m.allocate(x.dtype(), x.sizes());
  m.launch_rows(KernelClass::kPointwise, "masked_fill", y.count(), {&x, &mask}, {&y});
  const Value inputs[] = {x};
  m.record(y, inputs, {{mask, "masked_fill keeps its mask"}},
           [](Machine& mm, const Gradients& g, const GradNode& n) {
             const Value both[] = {g[0], n.saved(0)};
             return Gradients{elementwise(mm, "masked_fill", both, g[0].dtype())};
           });
  return y;
}

}  // namespace plimsoll::eager
