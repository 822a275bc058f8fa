#include <algorithm>

#include "graph/eager/autocast.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// The gradient with the reduced axes put back as ones, seen at full size.
Value spread(Machine& m, const Value& g, const Layout& before, const std::vector<size_t>& axes,
             bool keep_dims) {
  Value wide = g.detached();
  if (!keep_dims) {
    Shape sizes = before.sizes;
    for (const size_t a : axes) sizes[a] = 1;
    wide = view(m, wide, sizes);
  }
  return expand(m, wide, before.sizes);
}

Value at_kept_places(Machine& m, const Value& gradient, const GradNode& n) {
  const Layout& before = *n.edges[0].input;
  Value dx = fill(m, before.dtype, before.sizes);
  m.launch_rows(KernelClass::kScatter, "scatter", gradient.count(), {&gradient, &n.saved(0)},
                {&gradient});
  return dx;
}

// (grad / mask.sum(dim, true)) * mask, mask = result == self
Value shared_by_extrema(Machine& m, const Gradients& g, const Value& wide, const GradNode& n) {
  const DType dtype = n.edges[0].input->dtype;
  const Value compared[] = {n.saved(0)};
  const Value mask = elementwise(m, "equal", compared, DType::kBool);
  const Value count = m.allocate(DType::kInt64, g[0].sizes());
  const Value share = elementwise(m, "div", g, dtype);
  const Value parts[] = {mask, wide};
  return elementwise(m, "mul", parts, dtype);
}

// Of an axis that is not the fastest it has scratch memory (estimator/library/workspace).
std::string reduction_kernel(const std::string& op, const Value& x, const std::vector<size_t>& axes,
                             Reduction kind) {
  if (!keeps_fastest_axis(x, axes)) return op;
  if (kind == Reduction::kIndices) return "column_max_position";
  return kind == Reduction::kExtremum ? "column_max" : "column_" + op;
}

}  // namespace

bool keeps_fastest_axis(const Value& x, const std::vector<size_t>& axes) {
  for (size_t i = x.rank(); i-- > 0;) {
    if (x.strides()[i] == Dim(1) && !(x.sizes()[i] == Dim(1)))
      return std::find(axes.begin(), axes.end(), i) == axes.end();
  }
  return false;
}

Value reduce(Machine& m, const std::string& op, const Value& x, const std::vector<size_t>& axes,
             bool keep_dims, Reduction kind, const ReductionTemporaries& made) {
  Shape sizes;
  for (size_t i = 0; i < x.rank(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!reduced) sizes.push_back(x.sizes()[i]);
    if (reduced && keep_dims) sizes.push_back(1);
  }
  if (!x.on_device()) return m.host(x.dtype(), sizes);
  // Sums and norms read half precision and write single, without a cast between.
  const bool single = kind == Reduction::kSum || kind == Reduction::kKeepsInputAndResult;
  const bool sums_single = m.autocast() && single && is_float(x.dtype());
  Value y = m.allocate(sums_single ? DType::kFloat32 : x.dtype(), sizes);
  m.launch_rows(KernelClass::kReduce, reduction_kernel(op, x, axes, kind), x.count(), {&x}, {&y},
                y.count());
  std::vector<Kept> kept;
  const bool extremum = kind == Reduction::kExtremum;
  if (extremum || kind == Reduction::kKeepsInput || kind == Reduction::kKeepsInputAndResult) {
    kept.push_back({x, "the reduction keeps its input"});
  }
  if (extremum || kind == Reduction::kKeepsResult || kind == Reduction::kKeepsInputAndResult) {
    kept.push_back({y, "the reduction keeps its result"});
  }
  if (kind == Reduction::kIndices) {
    kept.push_back({m.allocate(DType::kInt64, sizes), "max and min keep their positions (int64)"});
  }
  const Value inputs[] = {x};
  m.record(y, inputs, std::move(kept),
           [kind, axes, keep_dims, op, made](Machine& mm, const Gradients& g, const GradNode& n) {
             const Layout& before = *n.edges[0].input;
             const Value wide = spread(mm, g[0], before, axes, keep_dims);
             if (kind == Reduction::kSum) return Gradients{wide};
             if (kind == Reduction::kIndices) return Gradients{at_kept_places(mm, g[0], n)};
             if (kind == Reduction::kExtremum) return Gradients{shared_by_extrema(mm, g, wide, n)};
             std::vector<Value> temporaries(made.whole);
             for (Value& t : temporaries) t = mm.allocate(before.dtype, before.sizes);
             if (made.mask) temporaries.push_back(mm.allocate(DType::kBool, g[0].sizes()));
             for (size_t i = 0; i < made.reduced; ++i)
               temporaries.push_back(mm.allocate(before.dtype, g[0].sizes()));
             std::vector<Value> operands{wide};
             for (const Kept& k : n.kept) {
               Value v = k.value;
               if (v.rank() != before.sizes.size()) v = spread(mm, v, before, axes, keep_dims);
               operands.push_back(v);
             }
             return Gradients{
                 elementwise(mm, kind == Reduction::kMean ? "div" : op, operands, before.dtype)};
           });
  return y;
}

// Under autocast the result is single precision. fp16 is widened inside the kernel, bf16 by a cast
// before it (ATen/native/SoftMax.cpp).
Value softmax(Machine& m, const Value& given, size_t axis, bool log) {
  const std::string op = log ? "log_softmax" : "softmax";
  const bool inside = m.autocast() && given.dtype() == DType::kFloat16;
  const Value x = inside ? given : to_single(m, given);
  const Dim rows = floor_div(x.count(), x.sizes()[axis]);
  Value y = m.allocate(inside ? DType::kFloat32 : x.dtype(), x.sizes());
  m.launch_rows(KernelClass::kSoftmax, op, y.count() * Dim(5), {&x}, {&y}, rows);
  const Value inputs[] = {x};
  std::vector<Kept> kept{{y, "softmax keeps its result"}};
  if (m.policy().softmax_keeps_input)
    kept.insert(kept.begin(), {x, "softmax keeps its input (PyTorch before 1.11)"});
  m.record(y, inputs, std::move(kept),
           [op, rows](Machine& mm, const Gradients& g, const GradNode& n) {
             Value dx = mm.allocate(n.edges[0].input->dtype, g[0].sizes());
             mm.launch_rows(KernelClass::kSoftmax, op, dx.count() * Dim(4),
                            {&g[0], &n.kept.back().value}, {&dx}, rows);
             return Gradients{dx};
           });
  return y;
}

Value cumulative_sum(Machine& m, const Value& x) {
  if (!x.on_device()) return m.host(x.dtype(), x.sizes());
  const bool single = m.autocast() && is_float(x.dtype());
  Value y = m.allocate(single ? DType::kFloat32 : x.dtype(), x.sizes());
  m.launch_rows(KernelClass::kCopy, "cumsum", 0, {&x}, {&y});
  const Value inputs[] = {x};
  m.record(y, inputs, {},
           [before = x.layout_ref()](Machine& mm, const Gradients& g, const GradNode&) {
             const Value gradient = cast(mm, g[0], before->dtype);
             const Value flipped = mm.allocate(before->dtype, before->sizes);
             const Value summed = mm.allocate(before->dtype, before->sizes);
             Value dx = mm.allocate(before->dtype, before->sizes);
             mm.launch_rows(KernelClass::kCopy, "cumsum", 0, {&gradient}, {&dx});
             return Gradients{dx};
           });
  return y;
}

}  // namespace plimsoll::eager
