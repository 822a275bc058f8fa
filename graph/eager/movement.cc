#include <algorithm>
#include <numeric>

#include "graph/eager/autocast.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// Strides under which a layout that is not contiguous can be seen as `sizes` without moving data,
// as ATen/TensorUtils.cpp computeStride finds them; nothing where it cannot.
std::optional<Shape> strides_for(const Layout& layout, const Shape& sizes, Decider& decider) {
  const Shape& old = layout.sizes;
  Shape strides(sizes.size());
  if (old.empty()) return Shape(sizes.size(), Dim(1));
  auto to = static_cast<std::ptrdiff_t>(sizes.size()) - 1;
  Dim chunk_stride = layout.strides.back();
  Dim chunk = 1;
  Dim seen = 1;
  for (size_t from = old.size(); from-- > 0;) {
    chunk *= old[from];
    const bool ends = from == 0 || (!decider.is_one(old[from - 1]) &&
                                    !decider.equal(layout.strides[from - 1], chunk * chunk_stride));
    if (!ends) continue;
    while (to >= 0 && (decider.less(seen, chunk) || decider.is_one(sizes[to]))) {
      strides[to] = seen * chunk_stride;
      seen *= sizes[to];
      --to;
    }
    if (!decider.equal(seen, chunk)) return std::nullopt;
    if (from > 0) {
      chunk_stride = layout.strides[from - 1];
      chunk = 1;
      seen = 1;
    }
  }
  if (to != -1) return std::nullopt;
  return strides;
}

Value window(Machine& m, const Value& x, Shape sizes, Shape strides) {
  if (!x.on_device()) return m.host(x.dtype(), sizes);
  return m.view_of(x, strided_layout(x.dtype(), std::move(sizes), std::move(strides), m.decider()));
}

Value copy_of(Machine& m, const Value& x, LayoutRef layout, std::string op) {
  if (!x.on_device()) return m.host(x.dtype(), x.sizes());
  Value y = m.allocate(std::move(layout));
  m.launch_rows(KernelClass::kCopy, std::move(op), 0, {&x}, {&y});
  return y;
}

}  // namespace

Value view(Machine& m, const Value& x, const Shape& sizes) {
  if (sizes == x.sizes()) return x;
  const auto strides = x.contiguous() ? std::nullopt : strides_for(x.layout(), sizes, m.decider());
  Value y = strides         ? window(m, x, sizes, *strides)
            : x.on_device() ? m.view_of(x, m.contiguous(x.dtype(), sizes))
                            : m.host(x.dtype(), sizes);
  const Value inputs[] = {x};
  m.record(y, inputs, {},
           [before = x.layout_ref()](Machine& mm, const Gradients& g, const GradNode&) {
             return Gradients{reshape(mm, g[0], before->sizes)};
           });
  return y;
}

Value reshape(Machine& m, const Value& x, const Shape& sizes) {
  if (x.contiguous() || strides_for(x.layout(), sizes, m.decider())) return view(m, x, sizes);
  return unsafe_view(m, clone(m, x), sizes);
}

Value unsafe_view(Machine& m, const Value& x, const Shape& sizes) {
  Value y = view(m, x, sizes);
  y.set_view(x.is_view() && sizes == x.sizes());
  return y;
}

// reshape()'s clone is contiguous; so is contiguous()'s.
Value clone(Machine& m, const Value& x) { return clone(m, x, m.contiguous(x.dtype(), x.sizes())); }

Value clone(Machine& m, const Value& x, LayoutRef layout) {
  Value y = copy_of(m, x, std::move(layout), "copy");
  const Value inputs[] = {x};
  m.record(y, inputs, {},
           [](Machine&, const Gradients& g, const GradNode&) { return Gradients{g[0]}; });
  return y;
}

Value contiguous(Machine& m, const Value& x) { return x.contiguous() ? x : clone(m, x); }

Value cast(Machine& m, const Value& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (!x.on_device()) return m.host(dtype, x.sizes());
  Value y = m.allocate(dense_like(x.layout(), dtype, m.decider()));
  m.launch_rows(KernelClass::kCopy, "cast", 0, {&x}, {&y});
  if (!is_float(dtype)) return y;
  const Value inputs[] = {x};
  m.record(y, inputs, {}, [from = x.dtype()](Machine& mm, const Gradients& g, const GradNode&) {
    return Gradients{cast(mm, g[0], from)};
  });
  return y;
}

Value permute(Machine& m, const Value& x, const std::vector<size_t>& order) {
  Shape sizes, strides;
  for (const size_t i : order) {
    sizes.push_back(x.sizes()[i]);
    strides.push_back(x.strides()[i]);
  }
  Value y = window(m, x, std::move(sizes), std::move(strides));
  const Value inputs[] = {x};
  m.record(y, inputs, {}, [order](Machine& mm, const Gradients& g, const GradNode&) {
    std::vector<size_t> inverse(order.size());
    for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = i;
    return Gradients{permute(mm, g[0], inverse)};
  });
  return y;
}

Value transpose(Machine& m, const Value& x, size_t a, size_t b) {
  std::vector<size_t> order(x.rank());
  std::iota(order.begin(), order.end(), size_t{0});
  std::swap(order[a], order[b]);
  return permute(m, x, order);
}

Value expand(Machine& m, const Value& x, const Shape& sizes) {
  if (sizes == x.sizes()) return x;
  const size_t added = sizes.size() - x.rank();
  Shape strides(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool own = i >= added && (x.sizes()[i - added] == sizes[i] ||
                                    m.decider().equal(x.sizes()[i - added], sizes[i]));
    strides[i] = own ? x.strides()[i - added] : Dim(0);
  }
  Value y = window(m, x, sizes, std::move(strides));
  const Value inputs[] = {x};
  m.record(y, inputs, {},
           [before = x.layout_ref()](Machine& mm, const Gradients& g, const GradNode&) {
             return Gradients{sum_to(mm, g[0], before->sizes)};
           });
  return y;
}

Value unsqueeze(Machine& m, const Value& x, size_t axis) {
  Shape sizes = x.sizes();
  Shape strides = x.strides();
  const auto at = static_cast<std::ptrdiff_t>(axis);
  strides.insert(strides.begin() + at, axis < x.rank() ? sizes[axis] * strides[axis] : Dim(1));
  sizes.insert(sizes.begin() + at, Dim(1));
  Value y = window(m, x, std::move(sizes), std::move(strides));
  const Value inputs[] = {x};
  m.record(y, inputs, {}, [axis](Machine& mm, const Gradients& g, const GradNode&) {
    return Gradients{squeeze(mm, g[0], {axis})};
  });
  return y;
}

Value squeeze(Machine& m, const Value& x, std::vector<size_t> axes) {
  Shape sizes, strides;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) != axes.end()) continue;
    sizes.push_back(x.sizes()[i]);
    strides.push_back(x.strides()[i]);
  }
  Value y = window(m, x, std::move(sizes), std::move(strides));
  std::sort(axes.begin(), axes.end());
  const Value inputs[] = {x};
  m.record(y, inputs, {}, [axes](Machine& mm, const Gradients& g, const GradNode&) {
    Value dx = g[0];
    for (const size_t axis : axes) dx = unsqueeze(mm, dx, axis);
    return Gradients{dx};
  });
  return y;
}

Value fill(Machine& m, DType dtype, const Shape& sizes) {
  Value y = m.allocate(dtype, sizes);
  m.launch_rows(KernelClass::kCopy, "fill", 0, {}, {&y});
  return y;
}

namespace {

// Backward of everything that looks at a part: zeros of the whole, with the gradient copied in.
Backward into_zeros(LayoutRef whole) {
  return [whole = std::move(whole)](Machine& m, const Gradients& g, const GradNode&) {
    Value dx = fill(m, whole->dtype, whole->sizes);
    m.launch_rows(KernelClass::kCopy, "copy", 0, {&g[0]}, {&g[0]});
    return Gradients{dx};
  };
}

// Of a map in channels-last order interpolation makes one of that order, and of its gradient
// (upsample_nearest2d and its kin: suggest_memory_format()); the rest makes what is contiguous.
Value rearranged(Machine& m, const std::string& op, const Value& like, const Shape& sizes) {
  const bool interpolates = op == "resize" || op == "upsample";
  if (!interpolates || like.rank() != sizes.size()) return m.allocate(like.dtype(), sizes);
  return m.allocate(resampled_layout(m, like, sizes, like.dtype()));
}

}  // namespace

Value slice(Machine& m, const Value& x, size_t axis, const Dim&, const Dim& length, int64_t step) {
  Shape sizes = x.sizes();
  Shape strides = x.strides();
  sizes[axis] = length;
  strides[axis] = strides[axis] * Dim(step);
  Value y = window(m, x, std::move(sizes), std::move(strides));
  const Value inputs[] = {x};
  m.record(y, inputs, {}, into_zeros(x.layout_ref()));
  return y;
}

Value select(Machine& m, const Value& x, size_t axis, const Dim&) {
  Shape sizes = x.sizes();
  Shape strides = x.strides();
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(axis));
  Value y = window(m, x, std::move(sizes), std::move(strides));
  const Value inputs[] = {x};
  m.record(y, inputs, {}, into_zeros(x.layout_ref()));
  return y;
}

Value diagonal(Machine& m, const Value& x, size_t axis, size_t second) {
  Shape sizes = x.sizes();
  Shape strides = x.strides();
  strides[axis] = strides[axis] + strides[second];
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(second));
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(second));
  Value y = window(m, x, std::move(sizes), std::move(strides));
  const Value inputs[] = {x};
  m.record(y, inputs, {}, into_zeros(x.layout_ref()));
  return y;
}

std::vector<Value> split(Machine& m, const Value& x, size_t axis, const std::vector<Dim>& lengths,
                         bool unbound) {
  std::vector<Value> parts;
  for (const Dim& length : lengths) {
    Shape sizes = x.sizes();
    sizes[axis] = length;
    parts.push_back(window(m, x, std::move(sizes), x.strides()));
  }
  const Value inputs[] = {x};
  std::vector<LayoutRef> layouts;
  for (const Value& p : parts) layouts.push_back(p.layout_ref());
  const auto joined = [layouts, axis, unbound](Machine& mm, const Gradients& g, const GradNode&) {
    std::vector<Value> whole = g;
    for (size_t i = 0; i < whole.size(); ++i) {
      const Layout& part = *layouts[i];
      if (whole[i].defined()) continue;
      whole[i] = unbound ? expand(mm, fill(mm, part.dtype, {}), part.sizes)
                         : fill(mm, part.dtype, part.sizes);
    }
    return Gradients{concat(mm, whole, axis)};
  };
  m.record(parts, inputs, {}, joined);
  return parts;
}

Value concat(Machine& m, std::span<const Value> given, size_t axis) {
  const std::vector<Value> parts = of_one_type(m, given);
  Shape sizes = parts[0].sizes();
  sizes[axis] = 0;
  bool on_device = false;
  for (const Value& p : parts) {
    sizes[axis] += p.sizes()[axis];
    on_device |= p.on_device();
  }
  if (!on_device) return m.host(parts[0].dtype(), sizes);
  // All in one permuted order: the result has it too.
  auto layout = contiguous_layout(parts[0].dtype(), sizes);
  const bool permuted = std::none_of(parts.begin(), parts.end(), [&](const Value& p) {
    return p.contiguous() || !is_dense(p.layout(), m.decider());
  });
  if (permuted) {
    Layout like = parts[0].layout();
    like.sizes = sizes;
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return m.decider().less(like.strides[b], like.strides[a]);
    });
    Shape strides(sizes.size());
    Dim stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      strides[order[i]] = stride;
      stride *= sizes[order[i]];
    }
    layout = strided_layout(parts[0].dtype(), sizes, strides, m.decider());
  }
  Value y = m.allocate(std::move(layout));
  // Frameworks have kernels of their own for images whose channels are joined.
  const bool channels = axis == 1 && y.sizes().size() >= 4;
  m.launch_over(KernelClass::kCopy, channels ? "concat_channels" : "concat", 0, parts, y);
  std::vector<Dim> lengths;
  for (const Value& p : parts) lengths.push_back(p.sizes()[axis]);
  m.record(y, parts, {}, [lengths, axis](Machine& mm, const Gradients& g, const GradNode&) {
    return split(mm, g[0], axis, lengths);  // windows on the joined gradient
  });
  return y;
}

Value rearrange(Machine& m, const std::string& op, const Value& x, const Shape& sizes) {
  if (!x.on_device()) return m.host(x.dtype(), sizes);
  Value y = rearranged(m, op, x, sizes);
  m.launch_rows(KernelClass::kCopy, op, 0, {&x}, {&y});
  const Value inputs[] = {x};
  m.record(y, inputs, {},
           [op, before = x.layout_ref()](Machine& mm, const Gradients& g, const GradNode&) {
             Value dx = rearranged(mm, op, g[0], before->sizes);
             mm.launch_rows(KernelClass::kCopy, op, 0, {&g[0]}, {&dx});
             return Gradients{dx};
           });
  return y;
}

Value sum_to(Machine& m, const Value& x, const Shape& sizes) {
  if (x.sizes() == sizes) return x;
  const size_t added = x.rank() - sizes.size();
  std::vector<size_t> axes;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (i < added || (!m.decider().equal(x.sizes()[i], sizes[i - added]))) axes.push_back(i);
  }
  if (axes.empty()) return view(m, x, sizes);
  if (!x.on_device()) return m.host(x.dtype(), sizes);
  Value y = m.allocate(x.dtype(), sizes);
  const char* op = keeps_fastest_axis(x, axes) ? "column_sum" : "reduce";
  m.launch_rows(KernelClass::kReduce, op, x.count(), {&x}, {&y});
  return y;
}

}  // namespace plimsoll::eager
