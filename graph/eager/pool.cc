#include <algorithm>

#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

Dim planes(const Value& x) { return x.rank() > 1 ? x.sizes()[0] * x.sizes()[1] : Dim(1); }

using MaybePool = std::optional<PoolProblem<Dim>>;

// Nothing where windows have gaps, or images more than three dimensions.
MaybePool pool_problem(const Value& x, const Value& y, const Windows& w) {
  const size_t spatial = std::max<size_t>(x.rank(), 2) - 2;
  const bool gaps = std::ranges::any_of(w.dilations, [](int64_t d) { return d != 1; });
  if (spatial < 1 || spatial > 3 || w.extents.size() != spatial || gaps) return std::nullopt;
  PoolProblem<Dim> p{.n = x.sizes()[0], .c = x.sizes()[1]};
  for (size_t i = 0; i < spatial; ++i) {
    const size_t at = 3 - spatial + i;
    p.in[at] = x.sizes()[2 + i];
    p.out[at] = y.sizes()[2 + i];
    p.window[at] = w.extents[i];
    if (i < w.pads.size()) p.pad[at] = w.pads[i];
    if (i < w.strides.size()) p.stride[at] = w.strides[i];
  }
  p.channels_last = !y.contiguous();
  p.counts_padding = w.counts_padding;
  return p;
}

void launch_pool(Machine& m, const std::string& op, const Dim& flop,
                 std::initializer_list<const Value*> read,
                 std::initializer_list<const Value*> written, const MaybePool& problem) {
  if (problem) return m.launch_tensors(KernelClass::kPool, op, flop, read, written, *problem);
  m.launch_rows(KernelClass::kPool, op, flop, read, written, planes(**written.begin()));
}

Backward pool_backward(std::string op, MaybePool problem) {
  return [op = std::move(op), problem = std::move(problem)](Machine& m, const Gradients& g,
                                                            const GradNode& n) {
    const Layout& before = *n.edges[0].input;
    Value dx = m.allocate(std::make_shared<Layout>(before));
    launch_pool(m, op, dx.count(), {&g[0], &g[0]}, {&dx, &dx}, problem);
    return Gradients{dx};
  };
}

Dim count_of(const Windows& windows) {
  Dim count = 1;
  for (const Dim& extent : windows.extents) count *= extent;
  return count;
}

// Those of an adaptive pool where they are equal.
Windows equal_windows(const Shape& in, const Shape& out) {
  Windows windows;
  for (size_t i = 2; i < in.size(); ++i) {
    const auto from = in[i].constant(), to = out[i].constant();
    if (!from || !to || *to < 1 || *from % *to != 0) return {};
    windows.extents.emplace_back(*from / *to);
    windows.strides.push_back(*from / *to);
  }
  return windows;
}

}  // namespace

LayoutRef resampled_layout(Machine& m, const Value& x, const Shape& sizes, DType dtype) {
  if (x.contiguous() || x.rank() < 4 || x.strides()[1] != Dim(1))
    return contiguous_layout(dtype, sizes);
  return channels_last_layout(dtype, sizes, m.decider());
}

Value max_pool(Machine& m, const Value& x, const Shape& out_sizes, const Windows& windows,
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
  const MaybePool problem = pool_problem(x, y, windows);
  launch_pool(m, "max_pool", y.count() * count_of(windows), {&x}, {&y}, problem);
  const Value inputs[] = {x};
  m.record(y, inputs, std::move(kept), pool_backward("max_pool", problem));
  return y;
}

Value average_pool(Machine& m, const Value& x, const Shape& out_sizes, const Windows& windows) {
  Value y = m.allocate(resampled_layout(m, x, out_sizes, x.dtype()));
  const MaybePool problem = pool_problem(x, y, windows);
  launch_pool(m, "average_pool", y.count() * count_of(windows), {&x}, {&y}, problem);
  const Value inputs[] = {x};
  m.record(y, inputs, {{x, "average pool keeps its input"}},
           pool_backward("average_pool", problem));
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
  const MaybePool problem = pool_problem(x, y, equal_windows(x.sizes(), out_sizes));
  launch_pool(m, "adaptive_pool", x.count(), {&x}, {&y}, problem);
  const Value inputs[] = {x};
  m.record(y, inputs, {{x, "adaptive average pool keeps its input"}},
           pool_backward("adaptive_pool", problem));
  return y;
}

}  // namespace plimsoll::eager
