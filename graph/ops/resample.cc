// Operators that sample images at other places or sizes.
#include <fmt/format.h>

#include <cmath>

#include "graph/base/try.h"
#include "graph/ops/data_propagation.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// The axes a Resize is about: all, or those of its attribute since opset 18.
Result<std::vector<size_t>> resized_axes(InferContext& c) {
  if (c.attributes().has("axes"))
    return normalized_axes(c, c.attributes().integers("axes"), c.rank(0));
  std::vector<size_t> axes;
  for (size_t i = 0; i < c.rank(0); ++i) axes.push_back(i);
  return axes;
}

Result<void> scale_extents(InferContext& c, const std::vector<size_t>& axes,
                           const Fractions& scales) {
  if (scales.size() != axes.size()) {
    return c.fail("E246", fmt::format("{} scales for {} axes", scales.size(), axes.size()));
  }
  Shape shape = c.shape(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!c.decider().at_most(0, scales[i].over)) return c.fail("E246", "a scale is negative");
    shape[axes[i]] = floor_div(shape[axes[i]] * scales[i].over, scales[i].under);
  }
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

// Keeps the aspect ratio: the smallest (or largest) of the scales that the sizes ask for, for all.
Result<void> fit_extents(InferContext& c, const std::vector<size_t>& axes, Shape sizes,
                         bool smallest) {
  double scale = 0;
  std::vector<double> extents;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto extent = c.shape(0)[axes[i]].constant();
    const auto size = sizes[i].constant();
    if (!extent || !size || *extent < 1) {
      return c.fail("E254", "sizes that keep the aspect ratio need constant extents");
    }
    extents.push_back(static_cast<double>(*extent));
    const double asked = static_cast<double>(*size) / extents.back();
    scale = i == 0 ? asked : smallest ? std::min(scale, asked) : std::max(scale, asked);
  }
  Shape shape = c.shape(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const double extent = std::round(scale * extents[i]);
    if (!(extent >= 0 && extent < 9e15)) return c.fail("E232", "a size beyond 2^53");
    shape[axes[i]] = static_cast<int64_t>(extent);
  }
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

Result<void> size_extents(InferContext& c, const std::vector<size_t>& axes, const Shape& sizes) {
  if (sizes.size() != axes.size()) {
    return c.fail("E246", fmt::format("{} sizes for {} axes", sizes.size(), axes.size()));
  }
  const std::string policy = c.attributes().string("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch") return fit_extents(c, axes, sizes, policy == "not_larger");
  Shape shape = c.shape(0);
  for (size_t i = 0; i < axes.size(); ++i) shape[axes[i]] = sizes[i];
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

Result<void> resize_by(InferContext& c, size_t input, const std::vector<size_t>& axes) {
  const auto scales = known(c, input);
  if (!scales) return unknown_contents(c, input, "the scales");
  return scale_extents(c, axes, *scales);
}

// Inputs: x, scales in opset 10; x, region, scales, sizes since 11, of which one of the last two.
Result<void> resize(InferContext& c) {
  const auto axes = TRY(resized_axes(c));
  if (c.opset() < 11) return c.has(1) ? resize_by(c, 1, axes) : c.fail("E253", "no scales");
  const bool has_sizes = c.has(3) && !(elements(c.shape(3)) == Dim(0));
  if (has_sizes) {
    if (!c.dims(3)) return unknown_contents(c, 3, "the sizes");
    return size_extents(c, axes, *c.dims(3));
  }
  if (!c.has(2)) return c.fail("E253", "neither scales nor sizes");
  return resize_by(c, 2, axes);
}

Result<void> upsample(InferContext& c) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < c.rank(0); ++i) axes.push_back(i);
  if (c.has(1)) return resize_by(c, 1, axes);
  Fractions scales;
  for (const double real : c.attributes().get<std::vector<double>>("scales")
                               ? *c.attributes().get<std::vector<double>>("scales")
                               : std::vector<double>{}) {
    const auto scale = as_fraction(real);
    if (!scale) return c.fail("E246", fmt::format("scale {}", real));
    scales.push_back(*scale);
  }
  return scale_extents(c, axes, scales);
}

// x [n, c, in...], grid [n, out..., spatial] -> [n, c, out...]
Result<void> grid_sample(InferContext& c) {
  if (auto checked = require_rank(c, 0, 3); !checked) return checked;
  if (auto checked = require_rank(c, 1, c.rank(0), c.rank(0)); !checked) return checked;
  Shape shape = c.shape(0);
  for (size_t i = 2; i < shape.size(); ++i) shape[i] = c.shape(1)[i - 1];
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

// size [n, c, spatial...] -> [n, spatial..., spatial]
Result<void> affine_grid(InferContext& c) {
  const auto* size = c.dims(1);
  if (!size || size->size() < 3 || size->size() > 5) return unknown_contents(c, 1, "the extents");
  Shape shape{size->front()};
  shape.insert(shape.end(), size->begin() + 2, size->end());
  shape.emplace_back(static_cast<int64_t>(size->size()) - 2);
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

Result<void> center_crop_pad(InferContext& c) {
  const auto axes = TRY(resized_axes(c));
  const auto* size = c.dims(1);
  if (!size) return unknown_contents(c, 1, "the extents");
  if (size->size() != axes.size()) return c.fail("E246", "extents and axes differ in length");
  Shape shape = c.shape(0);
  for (size_t i = 0; i < axes.size(); ++i) shape[axes[i]] = (*size)[i];
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

constexpr OpRow kResampleRows[] = {
    {.name = "AffineGrid",
     .since = 20,
     .inputs = 2,
     .attributes = "align_corners",
     .shape = affine_grid,
     .lower = lower::rearrange,
     .example = "f32[2,2,3] i64[4]=[2,3,5,6] -> f32[2,5,6,2] | flop 0 | grads in0"},
    {.name = "CenterCropPad",
     .traits = OpRow::kReframes,
     .since = 18,
     .inputs = 2,
     .attributes = "axes",
     .shape = center_crop_pad,
     .lower = lower::rearrange,
     .host_from = 1,
     .example = "f32[20,10,3] i64[2]=[10,9] {axes=[0,1]} -> f32[10,9,3] | flop 0 | grads in0"},
    {.name = "GridSample",
     .since = 16,
     .inputs = 2,
     .attributes = "align_corners mode padding_mode",
     .shape = grid_sample,
     .lower = lower::grid_sample,
     .example = "f32[B,8,16,16] f32[B,5,6,2] -> f32[B,8,5,6] | flop 1920*B | keeps in0 in1 | grads "
                "in0 in1"},
    {.name = "Resize",
     .traits = OpRow::kReframes,
     .since = 10,
     .attributes = "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
                   "extrapolation_value keep_aspect_ratio_policy mode nearest_mode",
     .shape = resize,
     .lower = lower::rearrange,
     .host_from = 1,
     .example = "f32[B,8,H,7] _ f32[4]=[1.0,1.0,2.0,1.5] -> f32[B,8,2*H,10] | flop 0 | grads in0"},
    {.name = "Upsample",
     .traits = OpRow::kReframes,
     .since = 7,
     .attributes = "height_scale mode scales width_scale",
     .shape = upsample,
     .lower = lower::rearrange,
     .host_from = 1,
     .example =
         "f32[B,8,7,7] f32[4]=[1.0,1.0,2.0,2.0] {opset=9} -> f32[B,8,14,14] | flop 0 | grads in0"},
};

}  // namespace

std::span<const OpRow> resample_rows() { return kResampleRows; }

}  // namespace plimsoll::ops
