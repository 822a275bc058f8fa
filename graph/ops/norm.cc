// Normalisations.
#include <fmt/format.h>

#include "graph/base/try.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// A vector input with one value per channel (axis 1).
Result<void> check_per_channel(InferContext& c, size_t input, const Dim& channels) {
  if (!c.has(input)) return {};
  if (auto checked = require_rank(c, input, 1, 1); !checked) return checked;
  return require_equal(c, c.shape(input)[0], channels,
                       fmt::format("channels of the input and of input {}", input));
}

Dim channels_of(InferContext& c) { return c.rank(0) > 1 ? c.shape(0)[1] : Dim(1); }

// Outputs: y; since 14 in training the running mean and variance; before that also the batch's own
// statistics, which only training writes.
Result<void> batch_norm(InferContext& c) {
  if (auto checked = require_rank(c, 0, 1); !checked) return checked;
  for (size_t i = 1; i < 5; ++i) {
    if (auto checked = check_per_channel(c, i, channels_of(c)); !checked) return checked;
  }
  c.set(0, c.dtype(0), c.shape(0));
  for (size_t i = 1; i < c.outputs(); ++i) c.set(i, c.dtype(3), {channels_of(c)});
  return {};
}

Result<void> instance_norm(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2); !checked) return checked;
  for (size_t i = 1; i < 3; ++i) {
    if (auto checked = check_per_channel(c, i, channels_of(c)); !checked) return checked;
  }
  return like_first(c);
}

Result<void> group_norm(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2); !checked) return checked;
  const auto groups = TRY(c.required_integer("num_groups"));
  if (groups < 1) return c.fail("E245", fmt::format("num_groups is {}", groups));
  const Dim channels = channels_of(c);
  if (!c.decider().equal(floor_div(channels, groups) * Dim(groups), channels)) {
    return c.fail("E245",
                  fmt::format("{} groups do not divide {} channels", groups, channels.text()));
  }
  return like_first(c);
}

// Normalises from `axis` on; mean and inverse deviation keep the leading extents.
Result<void> layer_norm(InferContext& c) {
  const auto axis = TRY(c.axis(c.attributes().integer("axis", -1), c.rank(0)));
  const auto scaled = TRY(broadcast_two(c, c.shape(0), c.shape(1)));
  if (scaled.size() != c.rank(0)) return c.fail("E251", "the scale has more dimensions than input");
  Shape statistics = c.shape(0);
  for (size_t i = axis; i < statistics.size(); ++i) statistics[i] = 1;
  const auto stash = TRY(dtype_attribute(
      c, "stash_type", c.node().op == "LayerNormalization" ? DType::kFloat32 : c.dtype(0)));
  c.set(0, c.dtype(0), c.shape(0));
  for (size_t i = 1; i < c.outputs(); ++i) c.set(i, stash, statistics);
  return {};
}

// y, mean, inverse deviation, and the sum of input and skip.
Result<void> skip_layer_norm(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2, 3); !checked) return checked;
  TRY(broadcast_two(c, c.shape(0), c.shape(1)));
  Shape statistics = c.shape(0);
  statistics.back() = 1;
  c.set(0, c.dtype(0), c.shape(0));
  c.set(1, DType::kFloat32, statistics);
  c.set(2, DType::kFloat32, statistics);
  c.set(3, c.dtype(0), c.shape(0));
  return {};
}

// ids [batch, sequence], segments, and tables [n, hidden] for words, positions, segments.
Result<void> embed_layer_norm(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2, 2); !checked) return checked;
  if (auto checked = require_rank(c, 2, 2, 2); !checked) return checked;
  const Shape& ids = c.shape(0);
  const Shape sum{ids[0], ids[1], c.shape(2)[1]};
  c.set(0, c.dtype(2), sum);
  c.set(1, DType::kInt32, {ids[0]});
  c.set(2, c.dtype(2), sum);
  return {};
}

Result<void> local_response(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2); !checked) return checked;
  const auto size = TRY(c.required_integer("size"));
  if (size < 1) return c.fail("E241", fmt::format("attribute 'size' is {}", size));
  return like_first(c);
}

Result<void> lp_norm(InferContext& c) {
  TRY(c.axis(c.attributes().integer("axis", -1), c.rank(0)));
  return like_first(c);
}

Result<void> mean_variance(InferContext& c) {
  const std::vector<int64_t> axes =
      c.attributes().has("axes") ? c.attributes().integers("axes") : std::vector<int64_t>{0, 2, 3};
  TRY(normalized_axes(c, axes, c.rank(0)));
  return like_first(c);
}

constexpr OpRow kNormRows[] = {
    {.name = "BatchNormalization",
     .traits = OpRow::kNorm | OpRow::kOneType,
     .weights = slots(0, 1, 2),
     .statistics = slots(3, 4),
     .inputs = 5,
     .attributes = "consumed_inputs epsilon is_test momentum spatial training_mode",
     .shape = batch_norm,
     .lower = lower::batch_norm,
     .host_from = 1,  // a constant scale is no tensor: the layer has none
     .example = "f32[B,8,7,7] f32[8] f32[8] f32[8] f32[8] {training_mode=1} -> f32[B,8,7,7] f32[8] "
                "f32[8] | flop 3136*B | keeps f32[8] f32[8] in0 in1 | grads in0 in1 in2"},
    {.name = "EmbedLayerNormalization",
     .traits = OpRow::kNorm,
     .weights = slots(2, 3, 4, 5, 6),
     .domain = "com.microsoft",
     .inputs = 3,
     .attributes = "epsilon mask_index_type",
     .shape = embed_layer_norm,
     .lower = lower::embed_norm,
     .example = "i32[B,S] i32[B,S] f32[100,16] f32[50,16] f32[2,16] f32[16] f32[16] -> f32[B,S,16] "
                "i32[B] | flop 160*B*S | keeps f32[B,S,16] f32[B,S,1] f32[B,S,1] in0 in1 in5 | "
                "grads in2 in3 in4 in5 in6"},
    {.name = "GroupNormalization",
     .traits = OpRow::kNorm | OpRow::kOneType,
     .weights = slots(1, 2),
     .since = 18,
     .inputs = 3,
     .attributes = "epsilon num_groups stash_type",
     .shape = group_norm,
     .lower = lower::group_norm,
     .host_from = 1,  // a constant scale is no tensor: the layer has none
     .example = "f32[B,8,7,7] f32[8] f32[8] {num_groups=2} -> f32[B,8,7,7] | flop 3136*B | keeps "
                "f32[B,2] f32[B,2] in0 in1 | grads in0 in1 in2"},
    {.name = "InstanceNormalization",
     .traits = OpRow::kNorm | OpRow::kOneType,
     .weights = slots(1, 2),
     .inputs = 3,
     .attributes = "consumed_inputs epsilon",
     .shape = instance_norm,
     .lower = lower::instance_norm,
     .host_from = 1,  // a constant scale is no tensor: the layer has none
     .example = "f32[B,8,7,7] f32[8] f32[8] -> f32[B,8,7,7] | flop 3136*B | keeps f32[8*B] "
                "f32[8*B] f32[8*B] in0 | grads in0 in1 in2"},
    {.name = "LRN",
     .attributes = "alpha beta bias size",
     .shape = local_response,
     .lower = lower::lrn,
     .example = "f32[B,8,7,7] {size=5} -> f32[B,8,7,7] | flop 3920*B | keeps in0 out0 | grads in0"},
    {.name = "LayerNormalization",
     .traits = OpRow::kNorm | OpRow::kOneType,
     .weights = slots(1, 2),
     .since = 17,
     .inputs = 2,
     .attributes = "axis epsilon stash_type",
     .shape = layer_norm,
     .lower = lower::layer_norm,
     .host_from = 1,  // a constant scale is no tensor: the layer has none
     .example = "f32[B,S,16] f32[16] f32[16] -> f32[B,S,16] f32[B,S,1] f32[B,S,1] | flop 128*B*S | "
                "keeps f32[B,S,1] f32[B,S,1] in0 in1 | grads in0 in1 in2"},
    {.name = "LpNormalization",
     .traits = OpRow::kNorm,
     .attributes = "axis p",
     .shape = lp_norm,
     .lower = lower::lp_norm,
     .example = "f32[B,8] {p=2} -> f32[B,8] | flop 17*B | keeps f32[B,1] f32[B,8] in0 | grads in0"},
    {.name = "MeanVarianceNormalization",
     .traits = OpRow::kNorm,
     .since = 9,
     .attributes = "axes",
     .shape = mean_variance,
     .lower = lower::mean_variance_norm,
     .example = "f32[B,8,7,7] -> f32[B,8,7,7] | flop 4704*B + 8 | keeps f32[1,8,1,1] f32[B,8,7,7] "
                "| grads in0"},
    {.name = "RMSNormalization",
     .traits = OpRow::kNorm | OpRow::kOneType,
     .weights = slots(1),
     .since = 23,
     .inputs = 2,
     .attributes = "axis epsilon stash_type",
     .shape = layer_norm,
     .lower = lower::fused_rms_norm,
     .host_from = 1,  // a constant scale is no tensor: the layer has none
     .example = "f32[B,S,16] f32[16] -> f32[B,S,16] | flop 80*B*S | keeps f32[B,S,1] in0 in1 | "
                "grads in0 in1"},
    {.name = "SimplifiedLayerNormalization",
     .traits = OpRow::kNorm,
     .weights = slots(1),
     .inputs = 2,
     .attributes = "axis epsilon stash_type",
     .shape = layer_norm,
     .lower = lower::rms_norm,
     .host_from = 1,  // a constant scale is no tensor: the layer has none
     .example = "f32[B,S,16] f32[16] -> f32[B,S,16] f32[B,S,1] | flop 178*B*S | keeps f32[B,S,16] "
                "f32[B,S,1] in0 in1 | grads in0 in1"},
    {.name = "SkipLayerNormalization",
     .traits = OpRow::kNorm,
     .weights = slots(2, 3, 4),
     .domain = "com.microsoft",
     .inputs = 3,
     .attributes = "epsilon",
     .shape = skip_layer_norm,
     .lower = lower::skip_norm,
     .example = "f32[B,S,16] f32[B,S,16] f32[16] f32[16] -> f32[B,S,16] | flop 144*B*S | keeps "
                "f32[B,S,16] f32[B,S,1] f32[B,S,1] in2 | grads in0 in1 in2 in3"},
    {.name = "SkipSimplifiedLayerNormalization",
     .traits = OpRow::kNorm,
     .weights = slots(2, 3),
     .domain = "com.microsoft",
     .inputs = 3,
     .attributes = "epsilon",
     .shape = skip_layer_norm,
     .lower = lower::skip_norm,
     .example = "f32[B,S,16] f32[B,S,16] f32[16] -> f32[B,S,16] | flop 194*B*S | keeps f32[B,S,16] "
                "f32[B,S,16] f32[B,S,1] in2 | grads in0 in1 in2"},
};

}  // namespace

std::span<const OpRow> norm_rows() { return kNormRows; }

}  // namespace plimsoll::ops
