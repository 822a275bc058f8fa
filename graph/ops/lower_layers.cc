// Matrix products, convolutions, pooling and norms.
#include <algorithm>
#include <array>

#include "graph/eager/adapted_weight.h"
#include "graph/eager/autocast.h"
#include "graph/ops/lower.h"
#include "graph/ops/rules.h"

namespace plimsoll::lower {

Values matmul(Lowering& l) {
  if (!l.in(0).on_device() && !l.in(1).on_device())
    return {l.m.host(l.out_dtype(0), l.out_shape(0))};
  return {eager::matmul(l.m, l.in(0), l.in(1))};
}

Values fused_matmul(Lowering& l) {
  const auto turned = [&](size_t input, std::string_view last, std::string_view batch) {
    const Value& x = l.in(input);
    return eager::permute(l.m, x, ops::product_axes(x.rank(), l.attributes(), last, batch));
  };
  return {
      eager::matmul(l.m, turned(0, "transA", "transBatchA"), turned(1, "transB", "transBatchB"))};
}

Values gemm(Lowering& l) {
  Value a = eager::to_autocast(l.m, l.in(0));
  Value b = eager::to_autocast(l.m, l.in(1));
  if (l.attributes().integer("transA", 0)) a = eager::transpose(l.m, a, 0, 1);
  if (l.attributes().integer("transB", 0)) b = eager::transpose(l.m, b, 0, 1);
  if (!l.has(2)) return {eager::mm(l.m, a, b)};
  return {eager::addmm(l.m, l.in(2), a, b)};
}

// plimsoll:Linear: x, weight [out, in], optional bias.
Values linear(Lowering& l) {
  if (!l.quantized(1)) return {eager::linear(l.m, l.in(0), l.in(1), l.in(2))};
  const auto compute =
      static_cast<DType>(l.attributes().integer("compute", static_cast<int>(DType::kBFloat16)));
  return {eager::quantized_linear(l.m, l.in(0), l.in(1), l.in(2), compute)};
}

// plimsoll:GroupedLinear: rows by group, weight [groups, out, in], where each group ends.
Values grouped_linear(Lowering& l) {
  return {eager::grouped_linear(l.m, l.in(0), l.in(1), l.in(2))};
}

Values group_offsets(Lowering& l) {
  return {eager::group_offsets(l.m, l.in(0), l.out_shape(0)[0])};
}

// plimsoll:AdaptedWeight: weight, then the two matrices of its adapter.
Values adapted_weight(Lowering& l) {
  return {eager::adapted_weight(l.m, l.in(0), l.in(1), l.in(2))};
}

namespace {

std::vector<int64_t> steps_of(Lowering& l, std::string_view attribute) {
  std::vector<int64_t> steps = l.attributes().integers(attribute);
  steps.resize(l.in(0).rank() - 2, 1);
  return steps;
}

// Of windows of these extents; without them only those that are given.
std::vector<Dim> begin_pads(Lowering& l, std::span<const Dim> extents) {
  const auto given = l.attributes().integers("pads");
  const bool same = l.attributes().string("auto_pad", "NOTSET").starts_with("SAME");
  const auto strides = steps_of(l, "strides"), dilations = steps_of(l, "dilations");
  std::vector<Dim> pads;
  for (size_t i = 0; i < strides.size(); ++i) {
    Dim pad = i < given.size() ? Dim(given[i]) : Dim(0);
    if (same && i < extents.size()) {
      const Dim reach = (extents[i] - 1) * Dim(dilations[i]) + 1;
      const Dim total =
          (l.out_shape(0)[2 + i] - 1) * Dim(strides[i]) + reach - l.in(0).sizes()[2 + i];
      pad = floor_div(max(total, Dim(0)), Dim(2));
    }
    pads.push_back(std::move(pad));
  }
  return pads;
}

eager::Convolution convolution_of(Lowering& l, bool transposed) {
  const std::span<const Dim> filter(l.in(1).sizes());
  return {.stride = steps_of(l, "strides"),
          .dilation = steps_of(l, "dilations"),
          .pad = begin_pads(l, transposed ? std::span<const Dim>() : filter.subspan(2)),
          .groups = Dim(l.attributes().integer("group", 1)),
          .transposed = transposed};
}

}  // namespace

Values conv(Lowering& l) {
  return {
      eager::convolution(l.m, l.in(0), l.in(1), l.in(2), convolution_of(l, false), l.out_shape(0))};
}

Values conv_transpose(Lowering& l) {
  return {
      eager::convolution(l.m, l.in(0), l.in(1), l.in(2), convolution_of(l, true), l.out_shape(0))};
}

namespace {

eager::Windows windows_of(Lowering& l, std::vector<Dim> extents) {
  return {.extents = extents,
          .pads = begin_pads(l, extents),
          .strides = steps_of(l, "strides"),
          .dilations = steps_of(l, "dilations"),
          .counts_padding = l.attributes().integer("count_include_pad", 0) != 0};
}
eager::Windows windows_of(Lowering& l) {
  const auto extents = l.attributes().integers("kernel_shape");
  return windows_of(l, {extents.begin(), extents.end()});
}

}  // namespace

Values max_pool(Lowering& l) {
  Value indices;
  const bool wanted = l.wants(1);
  Value y =
      eager::max_pool(l.m, l.in(0), l.out_shape(0), windows_of(l), wanted ? &indices : nullptr);
  if (!wanted) return {y};
  return {y, indices};
}

Values average_pool(Lowering& l) {
  return {eager::average_pool(l.m, l.in(0), l.out_shape(0), windows_of(l))};
}

Values global_average_pool(Lowering& l) {
  return {eager::adaptive_average_pool(l.m, l.in(0), l.out_shape(0))};
}

Values global_max_pool(Lowering& l) {
  const Shape& x = l.in(0).sizes();
  return {eager::max_pool(l.m, l.in(0), l.out_shape(0), windows_of(l, {x.begin() + 2, x.end()}),
                          nullptr)};
}

Values lp_pool(Lowering& l) { return average_pool(l); }

Values batch_norm(Lowering& l) {
  const Recipe& recipe = l.m.recipe();
  const bool training = recipe.mode != Mode::kInference || recipe.batch_statistics;
  Values outputs{eager::batch_norm(l.m, l.in(0), l.in(1), l.in(2), training)};
  outputs.resize(l.node().outputs.size());  // running statistics are updated where they are
  return outputs;
}

Values layer_norm(Lowering& l) {
  const size_t axis = l.axis(-1);
  Values outputs{eager::layer_norm(l.m, l.in(0), l.in(1), l.in(2), axis)};
  outputs.resize(l.node().outputs.size());
  return outputs;
}

Values group_norm(Lowering& l) {
  return {eager::group_norm(l.m, l.in(0), l.in(1), l.in(2),
                            Dim(l.attributes().integer("num_groups", 1)))};
}

Values instance_norm(Lowering& l) { return {eager::instance_norm(l.m, l.in(0), l.in(1), l.in(2))}; }

Values rms_norm(Lowering& l) {
  const size_t axis = l.axis(-1);
  return {eager::rms_norm(l.m, l.in(0), l.in(1), axis)};
}

// PyTorch's own layer is one kernel (aten::_fused_rms_norm, since 2.8); people write it in pieces.
Values fused_rms_norm(Lowering& l) {
  const size_t axis = l.axis(-1);
  return {eager::fused_rms_norm(l.m, l.in(0), l.in(1), axis)};
}

// x / max(|x|, eps) along an axis.
Values lp_norm(Lowering& l) {
  const Value& x = l.in(0);
  const size_t axis = l.axis(-1);
  const Value length =
      eager::reduce(l.m, "norm", x, {axis}, true, eager::Reduction::kKeepsInputAndResult);
  const Value bounded =
      eager::unary(l.m, "clamp", length, eager::Keeps::kInput, "clamp keeps its input");
  return {eager::div(l.m, x, eager::expand(l.m, bounded, x.sizes()))};
}

// (x - mean) / sqrt(mean((x - mean)^2)), in pieces.
Values mean_variance_norm(Lowering& l) {
  const Value& x = l.in(0);
  std::vector<size_t> axes;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (i != 1) axes.push_back(i);
  }
  const Value mean = eager::reduce(l.m, "mean", x, axes, true, eager::Reduction::kMean);
  const Value centred = eager::add(l.m, x, mean, "sub");
  const Value squared = eager::power(l.m, centred, l.m.host(x.dtype(), {}));
  const Value variance = eager::reduce(l.m, "mean", squared, axes, true, eager::Reduction::kMean);
  return {
      eager::div(l.m, centred,
                 eager::unary(l.m, "sqrt", variance, eager::Keeps::kResult, "keeps its result"))};
}

Values skip_norm(Lowering& l) {
  const Value sum = eager::add(l.m, l.in(0), l.in(1));
  const size_t last = sum.rank() - 1;
  const bool simplified = l.node().op.starts_with("SkipSimplified");
  Values outputs(l.node().outputs.size());
  outputs[0] = simplified ? eager::rms_norm(l.m, sum, l.in(2), last)
                          : eager::layer_norm(l.m, sum, l.in(2), l.in(3), last);
  if (outputs.size() > 3) outputs[3] = sum;
  return outputs;
}

// ids, segments, tables of words, positions and segments, scale, bias.
Values embed_norm(Lowering& l) {
  const Shape& out = l.out_shape(0);
  Value sum = eager::embedding(l.m, l.in(2), l.in(0), out);
  sum = eager::add(l.m, sum, eager::embedding(l.m, l.in(3), l.in(0), out));
  if (l.has(1) && l.has(4))
    sum = eager::add(l.m, sum, eager::embedding(l.m, l.in(4), l.in(1), out));
  Values outputs(l.node().outputs.size());
  outputs[0] = eager::layer_norm(l.m, sum, l.in(5), l.in(6), sum.rank() - 1);
  if (outputs.size() > 2) outputs[2] = sum;
  return outputs;
}

Values weight_norm(Lowering& l) { return {eager::weight_norm(l.m, l.in(0), l.in(1))}; }
// plimsoll:SpectralNorm: weight, its singular vectors.
Values spectral_norm(Lowering& l) {
  const size_t axis = l.axis(0);
  return {eager::spectral_norm(l.m, l.in(0), l.in(1), l.in(2), axis)};
}
Values lrn(Lowering& l) {
  return {eager::local_response_norm(l.m, l.in(0), l.attributes().integer("size", 1))};
}

}  // namespace plimsoll::lower
