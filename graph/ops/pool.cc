// Pooling, plain, global and over regions.
#include "graph/base/try.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"
#include "graph/ops/windows.h"

namespace plimsoll::ops {
namespace {

Shape with_spatial(const Shape& x, const Shape& spatial) {
  Shape shape{x[0], x[1]};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

Result<void> pool(InferContext& c) {
  if (auto checked = require_rank(c, 0, 3); !checked) return checked;
  const Shape& x = c.shape(0);
  const auto windows = TRY(read_windows(c, x.size() - 2));
  const bool ceil_mode = c.attributes().integer("ceil_mode", 0) != 0;
  const auto spatial = TRY(slide(c, windows, {x.begin() + 2, x.end()}, ceil_mode));
  c.set(1, DType::kInt64, with_spatial(x, spatial));  // MaxPool's indices
  c.set(0, c.dtype(0), with_spatial(x, spatial));
  return {};
}

Result<void> global_pool(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2); !checked) return checked;
  c.set(0, c.dtype(0), with_spatial(c.shape(0), Shape(c.rank(0) - 2, 1)));
  return {};
}

// The extents that MaxPool came from, or those given as input 2.
Result<void> max_unpool(InferContext& c) {
  if (auto checked = require_rank(c, 0, 3); !checked) return checked;
  const Shape& x = c.shape(0);
  const auto windows = TRY(read_windows(c, x.size() - 2));
  if (c.has(2)) {
    const auto* given = c.dims(2);
    if (!given || given->size() != x.size()) return unknown_contents(c, 2, "the output's extents");
    c.set(0, c.dtype(0), *given);
    return {};
  }
  Shape spatial;
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    const Dim cut = Dim(windows.pads[i]) + windows.pads[x.size() - 2 + i];
    spatial.push_back((x[i + 2] - 1) * Dim(windows.strides[i]) + windows.kernel[i] - cut);
  }
  c.set(0, c.dtype(0), with_spatial(x, spatial));
  return {};
}

// x [n, c, h, w], regions [r, 4 or 5] -> [r, c, height, width]
Result<void> over_regions(InferContext& c, const Dim& height, const Dim& width) {
  if (auto checked = require_rank(c, 0, 4, 4); !checked) return checked;
  if (auto checked = require_rank(c, 1, 2, 2); !checked) return checked;
  c.set(0, c.dtype(0), {c.shape(1)[0], c.shape(0)[1], height, width});
  return {};
}

Result<void> roi_align(InferContext& c) {
  return over_regions(c, c.attributes().integer("output_height", 1),
                      c.attributes().integer("output_width", 1));
}

Result<void> max_roi_pool(InferContext& c) {
  const auto pooled = c.attributes().integers("pooled_shape");
  if (pooled.size() != 2) return c.fail("E247", "attribute 'pooled_shape' must have two entries");
  return over_regions(c, pooled[0], pooled[1]);
}

constexpr OpRow kPoolRows[] = {
    {.name = "AveragePool",
     .attributes = "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides",
     .shape = pool,
     .lower = lower::average_pool,
     .example = "f32[B,8,7,7] {kernel_shape=[3,3], strides=[2,2]} -> f32[B,8,3,3] | flop 648*B | "
                "keeps in0 | grads in0"},
    {.name = "GlobalAveragePool",
     .shape = global_pool,
     .lower = lower::global_average_pool,
     .example = "f32[B,8,7,7] -> f32[B,8,1,1] | flop 392*B | grads in0"},
    {.name = "GlobalLpPool",
     .attributes = "p",
     .shape = global_pool,
     .lower = lower::lp_pool,
     .example = "f32[B,8,7,7] -> f32[B,8,1,1] | flop 8*B | keeps in0 | grads in0"},
    {.name = "GlobalMaxPool",
     .shape = global_pool,
     .lower = lower::global_max_pool,
     .example = "f32[B,8,7,7] -> f32[B,8,1,1] | flop 392*B | keeps i64[B,8,1,1] in0 | grads in0"},
    {.name = "LpPool",
     .attributes = "auto_pad ceil_mode dilations kernel_shape p pads strides",
     .shape = pool,
     .lower = lower::lp_pool,
     .example = "f32[B,8,7,7] {kernel_shape=[2,2], p=2} -> f32[B,8,6,6] | flop 1152*B | keeps in0 "
                "| grads in0"},
    {.name = "MaxPool",
     .attributes = "auto_pad ceil_mode dilations kernel_shape pads storage_order strides",
     .shape = pool,
     .lower = lower::max_pool,
     .example = "f32[B,8,112,112] {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]} -> "
                "f32[B,8,56,56] i64[B,8,56,56] | flop 225792*B | keeps in0 out1 | grads in0"},
    {.name = "MaxRoiPool",
     .inputs = 2,
     .attributes = "pooled_shape spatial_scale",
     .shape = max_roi_pool,
     .lower = lower::pick,
     .example = "f32[B,8,32,32] f32[R,5] {pooled_shape=[7,7]} -> f32[R,8,7,7] | flop 0 | keeps in1 "
                "| grads in0"},
    {.name = "MaxUnpool",
     .since = 9,
     .inputs = 2,
     .attributes = "kernel_shape pads strides",
     .shape = max_unpool,
     .lower = lower::pick,
     .example = "f32[B,8,4,4] i64[B,8,4,4] {kernel_shape=[2,2], strides=[2,2]} -> f32[B,8,8,8] | "
                "flop 0 | keeps in1 | grads in0"},
    {.name = "RoiAlign",
     .since = 10,
     .inputs = 3,
     .attributes = "coordinate_transformation_mode mode output_height output_width sampling_ratio "
                   "spatial_scale",
     .shape = roi_align,
     .lower = lower::pick,
     .example = "f32[B,8,32,32] f32[R,4] i64[R] {output_height=7, output_width=7} -> f32[R,8,7,7] "
                "| flop 0 | keeps in1 | grads in0"},
};

}  // namespace

std::span<const OpRow> pool_rows() { return kPoolRows; }

}  // namespace plimsoll::ops
