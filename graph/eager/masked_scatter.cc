#include "graph/eager/masked_scatter.h"

#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// The mask over all elements, in order: what the kernels read.
Value whole_mask(Machine& m, const Shape& sizes) {
  Value mask = m.allocate(DType::kBool, sizes);
  m.launch_rows(KernelClass::kCopy, "copy", 0, {&mask}, {&mask});
  return mask;
}

// grad.masked_select(mask): index() by the places that nonzero() finds, an i64 for each axis of
// each element (ATen/native/cuda/IndexKernel.cpp, masked_select_out_cuda_impl; Nonzero.cu).
Value masked_select(Machine& m, const Value& g, const Layout& source) {
  const Value mask = whole_mask(m, g.sizes());
  const Dim axes(static_cast<int64_t>(g.rank()));
  const Value places = m.allocate(DType::kInt64, {elements(source.sizes), axes});
  m.launch_rows(KernelClass::kGather, "nonzero", 0, {&mask}, {&places});
  Value y = m.allocate(source.dtype, source.sizes);
  m.launch_rows(KernelClass::kGather, "index", 0, {&places, &y}, {&y});
  return y;
}

// x[mask]: nonzero() finds the places, an i64 for each axis of the mask (Nonzero.cu); backward adds
// into zeros (derivatives.yaml: index_backward).
Value masked_rows(Machine& m, const Value& x, const Value& mask, const Shape& sizes) {
  const Dim axes(static_cast<int64_t>(x.rank()) - 1);
  const Value places = m.allocate(DType::kInt64, {sizes[0], axes});
  m.launch_rows(KernelClass::kGather, "nonzero", 0, {&mask}, {&places});
  Value y = m.allocate(x.dtype(), sizes);
  m.launch_rows(KernelClass::kGather, "index", 0, {&places, &y}, {&y});
  const Value inputs[] = {x};
  m.record(y, inputs, {{mask, "index keeps its mask"}},
           [whole = x.layout_ref()](Machine& mm, const Gradients& g, const GradNode& n) {
             const Value dx = fill(mm, whole->dtype, whole->sizes);
             mm.launch_rows(KernelClass::kScatter, "index_put", 0, {&g[0], &n.saved(0)}, {&g[0]});
             return Gradients{dx};
           });
  return y;
}

}  // namespace

Value masked_add(Machine& m, const Value& x, const Value& mask, const Value& source) {
  const Value y = clone(m, x);
  const Value rows = masked_rows(m, y, mask, source.sizes());
  return index_put(m, y, mask, add(m, rows, source), false);
}

// ATen/native/TensorAdvancedIndexing.cpp: a clone of x, written into; ATen/native/cuda/
// IndexKernel.cpp, masked_scatter__cuda: the places are the running sum of the mask, in 64 bits.
// derivatives.yaml: grad.masked_fill(mask, 0) and grad.masked_select(mask).
Value masked_scatter(Machine& m, const Value& x, const Value& mask, const Value& source) {
  Value y = m.allocate(x.dtype(), x.sizes());
  m.launch_rows(KernelClass::kCopy, "copy", 0, {&x}, {&y});
  {
    const Value sums = m.allocate(DType::kInt64, x.sizes());
    const Value whole = whole_mask(m, x.sizes());
    m.launch_rows(KernelClass::kReduce, "cumsum", 0, {&whole}, {&sums});
    m.launch_rows(KernelClass::kScatter, "masked_scatter", 0, {&whole, &sums, &source}, {&source});
  }
  const Value inputs[] = {x, source};
  m.record(y, inputs, {{mask, "masked_scatter keeps its mask"}},
           [](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out(2);
             const Value parts[] = {g[0], n.saved(0)};
             if (n.needs(0)) out[0] = elementwise(mm, "masked_fill", parts, g[0].dtype());
             if (n.needs(1)) out[1] = masked_select(mm, g[0], *n.edges[1].input);
             return out;
           });
  return y;
}

}  // namespace plimsoll::eager
