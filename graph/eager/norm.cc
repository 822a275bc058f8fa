#include <algorithm>

#include "graph/eager/autocast.h"
#include "graph/eager/composed.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// Statistics are kept in 32 bits whatever the input's type.
constexpr DType kStatistics = DType::kFloat32;

// Channels last: of an image or a clip, without gaps or with them.
bool is_channels_last(const Value& x) {
  return (x.rank() == 4 || x.rank() == 5) && x.strides()[1] == Dim(1);
}

// x as a norm over rows reads it in mixed precision (timm/layers/fast_norm.py: both).
Value as_norms_read(Machine& m, const Value& x) {
  return m.policy().norms_in_half ? to_autocast(m, x) : to_single(m, x);
}

// Convolutional norms run in the order in which the map lies; others make rows, and so does group
// norm of a part of a map, which it keeps as it is.
LayoutRef layout_of_result(Machine& m, const std::string& op, const Value& x) {
  const bool as_it_lies = op == "batch_norm" || (op == "group_norm" && is_channels_last(x) &&
                                                 is_dense(x.layout(), m.decider()));
  return as_it_lies ? x.layout_ref() : contiguous_layout(x.dtype(), x.sizes());
}

// A norm with a mean and a reciprocal deviation per row, kept with the input; backward makes the
// gradients that are wanted (layer_norm_backward_cuda() in
// aten/src/ATen/native/cuda/layer_norm_kernel.cu, by a mask), batch norm's of its input in any case
// (aten/src/ATen/native/cudnn/BatchNorm.cpp).
Value normalize(Machine& m, const std::string& op, const Value& x, const Value& scale,
                const Value& bias, const Shape& statistics, const Dim& groups,
                std::string_view rule) {
  Value y = m.allocate(layout_of_result(m, op, x));
  Value mean = m.allocate(kStatistics, statistics);
  Value deviation = m.allocate(kStatistics, statistics);
  m.launch_rows(KernelClass::kNorm, op, y.count() * Dim(8), {&x}, {&y}, groups);
  const Value inputs[] = {x, scale, bias};
  m.record(y, inputs,
           {{x, rule},
            {scale, rule},
            {mean, "a norm keeps its mean"},
            {deviation, "a norm keeps its reciprocal deviation"}},
           [op, groups](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out(3);
             const Value& input = n.saved(0);
             if (op == "batch_norm" || n.needs(0))
               out[0] = mm.allocate(layout_of_result(mm, op, input));
             for (size_t i = 1; i < 3; ++i) {
               if (n.needs(i))
                 out[i] = mm.allocate(n.edges[i].input->dtype, n.edges[i].input->sizes);
             }
             mm.launch_tensors(KernelClass::kNorm, op, input.count() * Dim(12), {&g[0], &input},
                               {&*std::ranges::find_if(out, &Value::defined)},
                               RowsProblem<Dim>{groups, floor_div(input.count(), groups)});
             return out;
           });
  return y;
}

// ATen/native/Normalization.cpp, _batch_norm_impl_index: input.contiguous(suggest_memory_format()).
// A part of a tensor, or rows that are seen as channels, is copied, and the copy is what is kept.
Value without_gaps(Machine& m, const Value& x) {
  if (x.contiguous()) return x;
  if (!is_channels_last(x)) return clone(m, x);
  if (is_dense(x.layout(), m.decider())) return x;
  return clone(m, x, channels_last_layout(x.dtype(), x.sizes(), m.decider()));
}

}  // namespace

Value batch_norm(Machine& m, const Value& given, const Value& scale, const Value& bias,
                 bool training) {
  const Value x = without_gaps(m, given);
  const Dim channels = x.rank() > 1 ? x.sizes()[1] : Dim(1);
  if (training) {
    return normalize(m, "batch_norm", x, scale, bias, {channels}, channels,
                     "batch norm keeps its input and scale");
  }
  // With fixed statistics it is an affine map; its backward still reads the input for the scale.
  Value y = m.allocate(std::make_shared<Layout>(x.layout()));
  // PyTorch's own kernels, which serve what cuDNN does not, make room for statistics all the same.
  Value mean, deviation;
  if (x.rank() < 3 || !scale.on_device()) {
    mean = m.allocate(kStatistics, {channels});
    deviation = m.allocate(kStatistics, {channels});
  }
  m.launch_rows(KernelClass::kPointwise, "affine", y.count() * Dim(2), {&x}, {&y});
  return y;
}

Value layer_norm(Machine& m, const Value& x, const Value& scale, const Value& bias, size_t axis) {
  if (composes(m)) return composed_layer_norm(m, x, scale, bias, axis);
  Shape rows = x.sizes();
  for (size_t i = axis; i < rows.size(); ++i) rows[i] = 1;
  return normalize(m, "layer_norm", as_norms_read(m, x), as_norms_read(m, scale),
                   as_norms_read(m, bias), rows, elements(rows),
                   "layer norm keeps its input and scale");
}

Value group_norm(Machine& m, const Value& given, const Value& scale, const Value& bias,
                 const Dim& groups) {
  const Shape rows{given.sizes()[0], groups};
  Value x = as_norms_read(m, given);
  if (!m.policy().group_norm_channels_last && is_channels_last(x)) x = contiguous(m, x);
  return normalize(m, "group_norm", x, scale, bias, rows, elements(rows),
                   "group norm keeps its input and scale");
}

// Batch norm over [1, N*C, ...], with scale and bias repeated N times.
Value instance_norm(Machine& m, const Value& x, const Value& scale, const Value& bias) {
  const Dim planes = x.sizes()[0] * x.sizes()[1];
  const auto repeated = [&](const Value& v) {
    return v.defined() ? rearrange(m, "copy", v, {planes}) : v;
  };
  Shape folded = x.sizes();
  folded[0] = 1;
  folded[1] = planes;
  const Value s = repeated(scale);
  const Value b = repeated(bias);
  Value y = normalize(m, "batch_norm", view(m, contiguous(m, x), folded), s, b, {planes}, planes,
                      "instance norm keeps its input and repeated scale");
  return view(m, y, x.sizes());
}

// x * rsqrt(mean(x^2) + eps) * scale, in the pieces eager code runs.
Value rms_norm(Machine& m, const Value& x, const Value& scale, size_t axis) {
  std::vector<size_t> axes;
  for (size_t i = axis; i < x.rank(); ++i) axes.push_back(i);
  // One name for all: each piece ends with the next, where autograd does not keep it.
  Value part = power(m, x, m.host(x.dtype(), {}));
  part = reduce(m, "mean", part, axes, true, Reduction::kMean);
  part = add(m, part, m.host(x.dtype(), {}));
  part = unary(m, "rsqrt", part, Keeps::kResult, "rsqrt keeps its result");
  part = mul(m, x, part);
  return scale.defined() ? mul(m, scale, part) : part;
}

// aten::_weight_norm_interface, whose kernels serve norms over all but the first or last dimension.
Value weight_norm(Machine& m, const Value& direction, const Value& length) {
  Value y = m.allocate(direction.dtype(), direction.sizes());
  const Value norms = m.allocate(kStatistics, length.sizes());
  m.launch_rows(KernelClass::kNorm, "weight_norm", y.count() * Dim(3), {&direction}, {&y});
  const Value inputs[] = {direction, length};
  const std::string_view rule = "weight norm keeps direction, length and norms";
  m.record(y, inputs, {{direction, rule}, {length, rule}, {norms, rule}},
           [](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out(2);
             for (size_t i = 0; i < 2; ++i)
               out[i] = mm.allocate(n.saved(i).dtype(), n.saved(i).sizes());
             mm.launch_rows(KernelClass::kNorm, "weight_norm", g[0].count() * Dim(5),
                            {&g[0], &n.saved(0)}, {&out[0], &out[1]});
             return out;
           });
  return y;
}

Value fused_rms_norm(Machine& m, const Value& given, const Value& scale, size_t axis) {
  const Value x = as_norms_read(m, given);
  Shape rows = x.sizes();
  for (size_t i = axis; i < rows.size(); ++i) rows[i] = 1;
  const Dim groups = elements(rows);
  Value y = m.allocate(x.dtype(), x.sizes());
  const Value deviation = m.allocate(kStatistics, rows);
  m.launch_rows(KernelClass::kNorm, "rms_norm", y.count() * Dim(5), {&x}, {&y}, groups);
  const Value inputs[] = {x, scale};
  const std::string_view rule = "RMS norm keeps its input, its scale and a number per row";
  m.record(y, inputs, {{x, rule}, {scale, rule}, {deviation, rule}},
           [groups](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out(2);
             const Value& input = n.saved(0);
             if (n.needs(0)) out[0] = mm.allocate(input.dtype(), input.sizes());
             if (n.needs(1)) out[1] = mm.allocate(n.edges[1].input->dtype, n.edges[1].input->sizes);
             mm.launch_tensors(KernelClass::kNorm, "rms_norm", input.count() * Dim(8),
                               {&g[0], &input}, {&*std::ranges::find_if(out, &Value::defined)},
                               RowsProblem<Dim>{groups, floor_div(input.count(), groups)});
             return out;
           });
  return y;
}

// torch.nn.utils.parametrizations.spectral_norm with one power iteration.
Value spectral_norm(Machine& m, const Value& weight, const Value& u, const Value& v, size_t axis) {
  const Value rows = axis == 0 ? weight : transpose(m, weight, 0, axis);
  const Value matrix = reshape(m, rows, {u.count(), v.count()});
  const bool had_grad = m.grad_enabled();
  if (m.recipe().mode != Mode::kInference) {
    m.set_grad_enabled(false);
    matmul(m, matrix, v);
    matmul(m, transpose(m, matrix, 0, 1), u);
    m.set_grad_enabled(had_grad);
  }
  const Value left = clone(m, u);
  const Value right = clone(m, v);
  const Value largest = matmul(m, left, matmul(m, matrix, right));
  return div(m, weight, largest);
}

namespace {

// torch/nn/functional.py, local_response_norm: the square's mean over neighbouring channels is a
// pool of a map that is padded along them.
Value response_in_pieces(Machine& m, const Value& x, int64_t size) {
  const Shape& s = x.sizes();
  Shape deep{s[0], Dim(1), s[1]};
  for (size_t i = 2; i < s.size(); ++i) deep.push_back(s[i]);
  Shape padded = deep;
  padded[2] += Dim(size - 1);
  const auto number = [&] { return m.host(x.dtype(), {}); };
  Value part = mul(m, x, x);
  part = view(m, part, deep);
  part = rearrange(m, "pad", part, padded);
  Windows windows{.extents = {Dim(size)}};
  windows.extents.resize(x.rank() - 1, Dim(1));
  part = average_pool(m, part, deep, windows);
  const Value means = view(m, part, s);  // has a name there, and lives as long
  part = mul(m, means, number());
  part = add(m, part, number());
  part = power(m, part, number());
  return div(m, x, part);
}

}  // namespace

// Priced as one fused kernel, which keeps its input, its result and the scale it computed.
Value local_response_norm(Machine& m, const Value& x, int64_t size) {
  if (m.policy().response_norm_in_pieces) return response_in_pieces(m, x, size);
  Value y = m.allocate(x.dtype(), x.sizes());
  m.launch_rows(KernelClass::kNorm, "lrn", y.count() * Dim(10), {&x}, {&y});
  const Value inputs[] = {x};
  m.record(y, inputs, {{x, "LRN keeps its input"}, {y, "LRN keeps its result"}},
           [](Machine& mm, const Gradients& g, const GradNode& n) {
             Value dx = mm.allocate(g[0].dtype(), g[0].sizes());
             mm.launch_rows(KernelClass::kNorm, "lrn", dx.count() * Dim(15),
                            {&g[0], &n.saved(0), &n.saved(1)}, {&dx});
             return Gradients{dx};
           });
  return y;
}

}  // namespace plimsoll::eager
