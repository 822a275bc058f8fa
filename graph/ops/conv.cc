// Convolutions and what turns images into columns.
#include <fmt/format.h>

#include <optional>

#include "graph/base/try.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"
#include "graph/ops/windows.h"
#include "graph/ops/zeros.h"

namespace plimsoll::ops {
namespace {

// One number for each channel of the result, where there is a bias at all. Zeros are none, whatever
// their shape: PyTorch's newer exporter makes some of [channels, 2] where a convolution of volumes
// has no bias (onnxscript 0.7.2, aten_convolution).
Result<void> check_bias(InferContext& c, std::optional<size_t> input, const Dim& channels) {
  if (!input || !c.has(*input) || is_zeros(c.graph(), c.node().inputs[*input])) return {};
  if (auto checked = require_rank(c, *input, 1, 1); !checked) return checked;
  return require_equal(c, c.shape(*input)[0], channels, "the bias and the result's channels");
}

// x [n, c, spatial...], filter [k, c/group, kernel...] at input `filter`, a bias at `bias` if it
// has one.
Result<void> convolve(InferContext& c, size_t filter, std::optional<size_t> bias, DType out) {
  if (auto checked = require_rank(c, 0, 2); !checked) return checked;
  const Shape& x = c.shape(0);
  if (auto checked = require_rank(c, filter, x.size(), x.size()); !checked) return checked;
  const Shape& w = c.shape(filter);
  const int64_t group = c.attributes().integer("group", 1);
  if (auto checked = check_group(c, group, x[1]); !checked) return checked;
  if (auto checked = check_group(c, group, w[0]); !checked) return checked;
  if (auto same = require_equal(c, x[1], w[1] * Dim(group), "channels of input and filter");
      !same) {
    return same;
  }
  if (auto checked = check_bias(c, bias, w[0]); !checked) return checked;
  auto windows = TRY(read_windows(c, x.size() - 2, {w.begin() + 2, w.end()}));
  auto spatial = TRY(slide(c, windows, {x.begin() + 2, x.end()}, false));
  Shape shape{x[0], w[0]};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  c.set(0, out, std::move(shape));
  return {};
}

Result<void> conv(InferContext& c) { return convolve(c, 1, 2, c.dtype(0)); }
// Zero points stand where others have a bias.
Result<void> conv_integer(InferContext& c) { return convolve(c, 1, std::nullopt, DType::kInt32); }

// x, its scale and zero point, filter, its scale and zero point, y's scale and zero point, bias.
Result<void> qlinear_conv(InferContext& c) { return convolve(c, 3, 8, c.dtype(7)); }

// x, offset [n, 2*offset_group*kernel, out...], ... : the extents are those of a Conv.
Result<void> deform_conv(InferContext& c) {
  if (auto checked = require_rank(c, 0, 3); !checked) return checked;
  if (auto shaped = convolve(c, 1, 3, c.dtype(0)); !shaped) return shaped;
  return check_group(c, c.attributes().integer("offset_group", 1), c.shape(0)[1]);
}

// Extents of a transposed convolution from strides, pads and output_padding.
Result<Shape> unslide(InferContext& c, const Windows& windows, const Shape& in) {
  const auto padding = c.attributes().integers("output_padding");
  const auto fixed = c.attributes().integers("output_shape");
  if ((!padding.empty() && padding.size() != in.size()) ||
      (!fixed.empty() && fixed.size() != in.size() && fixed.size() != in.size() + 2)) {
    return c.fail("E246", "output_padding or output_shape does not have one entry per dimension");
  }
  Shape out;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!fixed.empty()) {
      out.emplace_back(fixed[fixed.size() - in.size() + i]);
      continue;
    }
    const Dim extra = padding.empty() ? 0 : padding[i];
    const Dim stride = windows.strides[i];
    const Dim cut = Dim(windows.pads[i]) + windows.pads[in.size() + i];
    const Dim uncut = (in[i] - 1) * stride + extra + reach(windows, i);
    // Padding is never negative: a filter shorter than its stride leaves less.
    const bool longer = c.decider().at_most(in[i] * stride, uncut);
    out.push_back(!windows.same ? uncut - cut : longer ? in[i] * stride : uncut);
    if (!c.decider().at_most(0, out.back())) {
      return c.fail("E244", fmt::format("padding leaves {} elements", out.back().text()));
    }
  }
  return out;
}

// x [n, c, spatial...], filter [c, k/group, kernel...].
Result<void> conv_transpose(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2); !checked) return checked;
  const Shape& x = c.shape(0);
  if (auto checked = require_rank(c, 1, x.size(), x.size()); !checked) return checked;
  const Shape& w = c.shape(1);
  const int64_t group = c.attributes().integer("group", 1);
  if (auto checked = check_group(c, group, x[1]); !checked) return checked;
  if (auto same = require_equal(c, x[1], w[0], "channels of input and filter"); !same) return same;
  if (auto checked = check_bias(c, 2, w[1] * Dim(group)); !checked) return checked;
  auto windows = TRY(read_windows(c, x.size() - 2, {w.begin() + 2, w.end()}));
  auto spatial = TRY(unslide(c, windows, {x.begin() + 2, x.end()}));
  Shape shape{x[0], w[1] * Dim(group)};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

// x [n, c*block, columns], image_shape, block_shape -> [n, c, image_shape...]
Result<void> col2im(InferContext& c) {
  if (auto checked = require_rank(c, 0, 3, 3); !checked) return checked;
  const auto* image = c.dims(1);
  const auto* block = c.dims(2);
  if (!image || image->size() > kAnyRank) return unknown_contents(c, 1, "the image's extents");
  if (!block || block->size() != image->size())
    return unknown_contents(c, 2, "the block's extents");
  const Dim per_channel = elements(*block);
  if (!c.decider().at_most(1, per_channel)) {
    return c.fail("E246", fmt::format("a block has {} elements", per_channel.text()));
  }
  Shape shape{c.shape(0)[0], floor_div(c.shape(0)[1], per_channel)};
  shape.insert(shape.end(), image->begin(), image->end());
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

constexpr OpRow kConvRows[] = {
    {.name = "Col2Im",
     .since = 18,
     .inputs = 3,
     .attributes = "dilations pads strides",
     .shape = col2im,
     .lower = lower::rearrange,
     .example = "f32[B,12,16] i64[2]=[5,5] i64[2]=[2,2] -> f32[B,3,5,5] | flop 0 | grads in0"},
    {.name = "Conv",
     .traits = OpRow::kConvolutional | OpRow::kOneType,
     .weights = slots(1, 2),
     .inputs = 2,
     .attributes = "auto_pad dilations group kernel_shape pads strides",
     .shape = conv,
     .lower = lower::conv,
     .example = "f32[B,8,16,16] f32[4,8,3,3] {pads=[1,1,1,1], strides=[2,2]} -> f32[B,4,8,8] | "
                "flop 36864*B | keeps in0 in1 | grads in0 in1"},
    {.name = "ConvInteger",
     .traits = OpRow::kQuantised,
     .since = 10,
     .inputs = 2,
     .attributes = "auto_pad dilations group kernel_shape pads strides",
     .shape = conv_integer,
     .lower = lower::integer_product,
     .example = "u8[B,8,16,16] u8[4,8,3,3] -> i32[B,4,14,14] | flop 112896*B"},
    {.name = "ConvTranspose",
     .traits = OpRow::kConvolutional | OpRow::kOneType,
     .weights = slots(1, 2),
     .inputs = 2,
     .attributes = "auto_pad dilations group kernel_shape output_padding output_shape pads strides",
     .shape = conv_transpose,
     .lower = lower::conv_transpose,
     .example = "f32[B,8,7,7] f32[8,4,2,2] {strides=[2,2]} -> f32[B,4,14,14] | flop 12544*B | "
                "keeps in0 in1 | grads in0 in1"},
    {.name = "DeformConv",
     .weights = slots(1, 3),
     .since = 19,
     .inputs = 3,
     .attributes = "dilations group kernel_shape offset_group pads strides",
     .shape = deform_conv,
     .lower = lower::deform_conv,
     .example = "f32[B,8,16,16] f32[4,8,3,3] f32[B,18,14,14] -> f32[B,4,14,14] | flop 112896*B | "
                "keeps in0 in1 in2 | grads in0 in1 in2"},
    {.name = "QLinearConv",
     .traits = OpRow::kQuantised,
     .since = 10,
     .inputs = 8,
     .attributes = "auto_pad dilations group kernel_shape pads strides",
     .shape = qlinear_conv,
     .lower = lower::integer_product,
     .example = "u8[B,8,16,16] f32[] u8[] i8[4,8,3,3] f32[] i8[] f32[] u8[] -> u8[B,4,14,14] | "
                "flop 112896*B"},
    {.name = "FusedConv",
     .traits = OpRow::kConvolutional | OpRow::kOneType,
     .weights = slots(1, 2),
     .domain = "com.microsoft",
     .inputs = 2,
     .attributes =
         "activation activation_params auto_pad dilations group kernel_shape pads strides",
     .shape = conv,
     .lower = lower::conv,
     .example = "f32[B,8,16,16] f32[4,8,3,3] {activation=\"Relu\"} -> f32[B,4,14,14] | flop "
                "112896*B | keeps in0 in1 | grads in0 in1"},
};

}  // namespace

std::span<const OpRow> conv_rows() { return kConvRows; }

}  // namespace plimsoll::ops
