#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

Dim planes(const Value& x) { return x.rank() > 1 ? x.sizes()[0] * x.sizes()[1] : Dim(1); }

Backward pool_backward(std::string op) {
  return [op = std::move(op)](Machine& m, const Gradients& g, const GradNode& n) {
    const Layout& before = *n.edges[0].input;
    Value dx = m.allocate(std::make_shared<Layout>(before));
    m.launch_rows(KernelClass::kPool, op, dx.count(), {&g[0], &g[0]}, {&dx, &dx}, planes(dx));
    return Gradients{dx};
  };
}

}  // namespace

LayoutRef resampled_layout(Machine& m, const Value& x, const Shape& sizes, DType dtype) {
  if (x.contiguous() || x.rank() < 4 || x.strides()[1] != Dim(1))
    return contiguous_layout(dtype, sizes);
  return channels_last_layout(dtype, sizes, m.decider());
}

Value max_pool(Machine& m, const Value& x, const Shape& out_sizes, const Dim& window,
               Value* indices) {
  Value y = m.allocate(resampled_layout(m, x, out_sizes, x.dtype()));
  std::vector<Kept> kept{{x, "max pool keeps its input"}};
  if (m.policy().pool_keeps_indices || indices) {
    const bool wide = m.policy().pool_index_bytes == 8;
    const DType type = wide ? DType::kInt64 : DType::kInt32;
    Value positions = m.allocate(resampled_layout(m, x, out_sizes, type));
    kept.push_back({positions, wide ? "max pool keeps its positions (int64)"
                                    : "max pool keeps its positions (int32)"});
    if (indices) *indices = positions;
  } else {
    kept.push_back({y, "max pool keeps its result"});
  }
  m.launch_rows(KernelClass::kPool, "max_pool", y.count() * window, {&x}, {&y}, planes(x));
  const Value inputs[] = {x};
  m.record(y, inputs, std::move(kept), pool_backward("max_pool"));
  return y;
}

Value average_pool(Machine& m, const Value& x, const Shape& out_sizes, const Dim& window) {
  Value y = m.allocate(resampled_layout(m, x, out_sizes, x.dtype()));
  m.launch_rows(KernelClass::kPool, "average_pool", y.count() * window, {&x}, {&y}, planes(x));
  const Value inputs[] = {x};
  m.record(y, inputs, {{x, "average pool keeps its input"}}, pool_backward("average_pool"));
  return y;
}

// To one value per plane it is a mean; to more, a kernel that keeps its input.
Value adaptive_average_pool(Machine& m, const Value& x, const Shape& out_sizes) {
  std::vector<size_t> axes;
  bool to_one = true;
  for (size_t i = 2; i < x.rank(); ++i) {
    axes.push_back(i);
    to_one = to_one && m.decider().is_one(out_sizes[i]);
  }
  if (to_one) return reduce(m, "mean", x, axes, true, Reduction::kMean);
  Value y = m.allocate(resampled_layout(m, x, out_sizes, x.dtype()));
  m.launch_rows(KernelClass::kPool, "adaptive_pool", x.count(), {&x}, {&y}, planes(x));
  const Value inputs[] = {x};
  m.record(y, inputs, {{x, "adaptive average pool keeps its input"}},
           pool_backward("adaptive_pool"));
  return y;
}

}  // namespace plimsoll::eager
