// Operators that move or rename elements without changing them: views, transposes, repeats.
#include <fmt/format.h>

#include <algorithm>

#include "graph/base/try.h"
#include "graph/ops/data_propagation.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"
#include "graph/ops/static_batch.h"

namespace plimsoll::ops {
namespace {

// The target of a Reshape with zeros replaced by the input's extents. E250.
Result<std::vector<Dim>> reshape_target(InferContext& c) {
  std::vector<Dim> target;
  if (c.has(1)) {
    if (!c.dims(1)) return unknown_contents(c, 1, "the extents of the result");
    target = *c.dims(1);
  } else {
    for (const int64_t d : c.attributes().integers("shape")) target.emplace_back(d);
  }
  if (target.size() > kAnyRank) return c.fail("E250", fmt::format("{} extents", target.size()));
  const bool copies = c.attributes().integer("allowzero", 0) == 0;
  size_t open = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    const auto value = target[i].constant();
    if (!value) continue;
    if (*value < -1) return c.fail("E250", fmt::format("extent {} of the target is {}", i, *value));
    if (*value == -1) ++open;
    if (*value != 0 || !copies) continue;
    if (i >= c.rank(0)) {
      return c.fail(
          "E250", fmt::format("extent {} is to be copied from an input of rank {}", i, c.rank(0)));
    }
    target[i] = c.shape(0)[i];
  }
  if (open > 1) return c.fail("E250", fmt::format("-1 occurs {} times in {}", open, text(target)));
  return target;
}

Result<void> reshape(InferContext& c) {
  auto target = TRY(reshape_target(c));
  target = stretch_target(c, c.shape(0), std::move(target));
  const Dim all = elements(c.shape(0));
  Dim rest = 1;
  Dim* open = nullptr;
  for (Dim& d : target) {
    if (d == Dim(-1)) {
      open = &d;
    } else {
      rest *= d;
    }
  }
  if (open && c.decider().at_most(1, rest)) *open = floor_div(all, rest);
  if (!c.decider().equal(open ? *open * rest : rest, all)) {
    return c.fail("E250", fmt::format("{} has {} elements, which do not fill {}", text(c.shape(0)),
                                      all.text(), text(target)));
  }
  c.set(0, c.dtype(0), std::move(target));
  follow_same(c);
  return {};
}

Result<void> flatten(InferContext& c) {
  const auto rank = static_cast<int64_t>(c.rank(0));
  const int64_t axis = c.attributes().integer("axis", 1);
  if (axis < -rank || axis > rank) {
    return c.fail("E248", fmt::format("axis {} is outside a tensor of rank {}", axis, rank));
  }
  const auto at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  c.set(0, c.dtype(0), {elements(c.shape(0), 0, at), elements(c.shape(0), at, c.rank(0))});
  return {};
}

Result<void> transpose(InferContext& c) {
  const size_t rank = c.rank(0);
  std::vector<int64_t> perm = c.attributes().integers("perm");
  if (perm.empty()) {
    for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  }
  const auto axes = TRY(normalized_axes(c, perm, rank));
  if (axes.size() != rank) return c.fail("E248", "'perm' does not name every axis once");
  if (c.attributes().has("perm")) c.set_plain("perm", axes);
  Shape shape;
  for (const size_t axis : axes) shape.push_back(c.shape(0)[axis]);
  c.set(0, c.dtype(0), std::move(shape));
  if (const auto from = small_shape(c.shape(0))) {
    follow_moved(c, 0, 0, [&](const Index& index) {
      Index source(rank, 0);
      for (size_t i = 0; i < rank; ++i) source[axes[i]] = index[i];
      return flat_index(source, *from);
    });
  }
  return {};
}

// Contents of input 0 repeated over output 0 by taking each index modulo the input's extent.
void follow_repeated(InferContext& c) {
  const auto from = small_shape(c.shape(0));
  if (!from) return;
  follow_moved(c, 0, 0, [&](const Index& index) {
    Index source(from->size(), 0);
    const size_t offset = index.size() - from->size();
    for (size_t i = 0; i < from->size(); ++i) {
      source[i] = (*from)[i] == 0 ? 0 : index[offset + i] % (*from)[i];
    }
    return flat_index(source, *from);
  });
}

Result<void> expand(InferContext& c) {
  if (!c.dims(1) || c.dims(1)->size() > kAnyRank) {
    return unknown_contents(c, 1, "the extents of the result");
  }
  std::vector<Dim> target = *c.dims(1);
  for (Dim& d : target) {
    if (d == Dim(-1)) d = 1;  // exporters write PyTorch's "keep" so
  }
  rebatch_expanded(c, target);
  auto shape = TRY(broadcast_two(c, c.shape(0), target));
  c.set(0, c.dtype(0), std::move(shape));
  follow_repeated(c);
  return {};
}

Result<void> tile(InferContext& c) {
  const auto* repeats = c.dims(1);
  if (!repeats) return unknown_contents(c, 1, "the repeats");
  if (repeats->size() != c.rank(0)) {
    return c.fail("E246",
                  fmt::format("{} repeats for a tensor of rank {}", repeats->size(), c.rank(0)));
  }
  std::vector<Dim> times = *repeats;
  if (!times.empty() && c.shape(0)[0] == Dim(1)) rebatch_leading(c, times);
  Shape shape = c.shape(0);
  for (size_t i = 0; i < shape.size(); ++i) shape[i] *= times[i];
  c.set(0, c.dtype(0), std::move(shape));
  follow_repeated(c);
  return {};
}

Result<void> squeeze(InferContext& c) {
  const auto given = TRY(axes_argument(c, 1));
  const size_t rank = c.rank(0);
  std::vector<bool> gone(rank, false);
  if (given) {
    const auto axes = TRY(normalized_axes(c, *given, rank));
    for (const size_t axis : axes) {
      if (!c.decider().is_one(c.shape(0)[axis])) {
        // torch.squeeze(x, axis) leaves such an axis; PyTorch's exporter writes a Squeeze all the
        // same, of which ONNX forbids it.
        if (!c.node().notes.calls.empty()) continue;
        return c.fail("E246",
                      fmt::format("axis {} has extent {}, not 1", axis, c.shape(0)[axis].text()));
      }
      gone[axis] = true;
    }
  } else {
    for (size_t i = 0; i < rank; ++i) gone[i] = c.decider().is_one(c.shape(0)[i]);
  }
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    if (!gone[i]) shape.push_back(c.shape(0)[i]);
  }
  c.set(0, c.dtype(0), std::move(shape));
  follow_same(c);
  return {};
}

Result<void> unsqueeze(InferContext& c) {
  const auto given = TRY(axes_argument(c, 1));
  if (!given) return c.fail("E247", "the axes are missing");
  const size_t rank = c.rank(0) + given->size();
  if (rank > kAnyRank) return c.fail("E248", fmt::format("{} axes", given->size()));
  const auto axes = TRY(normalized_axes(c, *given, rank));
  Shape shape;
  for (size_t i = 0, next = 0; i < rank; ++i) {
    const bool fresh = std::find(axes.begin(), axes.end(), i) != axes.end();
    shape.push_back(fresh ? Dim(1) : c.shape(0)[next++]);
  }
  c.set(0, c.dtype(0), std::move(shape));
  follow_same(c);
  return {};
}

Result<int64_t> blocksize(InferContext& c) {
  TRY(require_rank(c, 0, 4, 4));
  auto size = c.required_integer("blocksize");
  if (size && *size < 1) return c.fail("E246", fmt::format("blocksize is {}", *size));
  return size;
}

// d / by, which must leave nothing over. E246.
Result<Dim> divided(InferContext& c, const Dim& d, const Dim& by) {
  const Dim quotient = floor_div(d, by);
  if (c.decider().equal(quotient * by, d)) return quotient;
  return c.fail("E246", fmt::format("{} is not a multiple of {}", d.text(), by.text()));
}

Result<void> depth_to_space(InferContext& c) {
  const auto size = TRY(blocksize(c));
  const Shape& x = c.shape(0);
  const Dim block = size;
  const auto channels = TRY(divided(c, x[1], block * block));
  c.set(0, c.dtype(0), {x[0], channels, x[2] * block, x[3] * block});
  return {};
}

Result<void> space_to_depth(InferContext& c) {
  const auto size = TRY(blocksize(c));
  const Shape& x = c.shape(0);
  const Dim block = size;
  const auto height = TRY(divided(c, x[2], block));
  const auto width = TRY(divided(c, x[3], block));
  c.set(0, c.dtype(0), {x[0], x[1] * block * block, height, width});
  return {};
}

Result<void> identity(InferContext& c) {
  c.set(0, c.dtype(0), c.shape(0));
  follow_same(c);
  return {};
}

// The mask is bool since opset 10, typed like the data before.
Result<void> dropout(InferContext& c) {
  c.set(0, c.dtype(0), c.shape(0));
  c.set(1, c.opset() >= 10 ? DType::kBool : c.dtype(0), c.shape(0));
  return {};
}

Result<void> at_least_matrix(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2); !checked) return checked;
  return like_first(c);
}

constexpr OpRow kMovementRows[] = {
    {.name = "DepthToSpace",
     .attributes = "blocksize mode",
     .shape = depth_to_space,
     .lower = lower::rearrange,
     .example = "f32[B,8,7,7] {blocksize=2} -> f32[B,2,14,14] | flop 0 | grads in0"},
    {.name = "Dropout",
     .traits = OpRow::kRandom | OpRow::kDrops,
     .attributes = "consumed_inputs is_test ratio seed",
     .shape = dropout,
     .lower = lower::dropout,
     .host_from = 1,
     .example = "f32[B,16] -> f32[B,16] bool[B,16] | flop 32*B | keeps bool[B,16] | grads in0"},
    {.name = "Expand",
     .traits = OpRow::kSharesStorage | OpRow::kRepeats,
     .since = 8,
     .inputs = 2,
     .shape = expand,
     .lower = lower::expand,
     .host_from = 1,
     .example = "f32[B,1,8] i64[3]=[1,5,1] -> f32[B,5,8] | flop 0 | grads in0"},
    {.name = "Flatten",
     .traits = OpRow::kView | OpRow::kInOrder | OpRow::kSharesStorage,
     .attributes = "axis",
     .shape = flatten,
     .lower = lower::reshape,
     .example = "f32[B,8,7,7] -> f32[B,392] | flop 0 | grads in0"},
    {.name = "Identity",
     .traits = OpRow::kView | OpRow::kInOrder | OpRow::kSharesStorage,
     .shape = identity,
     .lower = lower::identity,
     .example = "f32[B,16] -> f32[B,16] | flop 0 | grads in0"},
    {.name = "Reshape",
     .traits = OpRow::kView | OpRow::kInOrder | OpRow::kSharesStorage,
     .attributes = "allowzero consumed_inputs shape",
     .shape = reshape,
     .lower = lower::reshape,
     .host_from = 1,
     .example = "f32[B,197,768] i64[4]=[0,-1,12,64] -> f32[B,197,12,64] | flop 0 | grads in0"},
    {.name = "ReverseSequence",
     .since = 10,
     .inputs = 2,
     .attributes = "batch_axis time_axis",
     .shape = at_least_matrix,
     .lower = lower::rearrange,
     .host_from = 1,
     .example = "f32[S,B,8] i64[B] -> f32[S,B,8] | flop 0 | grads in0"},
    {.name = "SpaceToDepth",
     .attributes = "blocksize mode",
     .shape = space_to_depth,
     .lower = lower::rearrange,
     .example = "f32[B,2,14,14] {blocksize=2} -> f32[B,8,7,7] | flop 0 | grads in0"},
    {.name = "Squeeze",
     .traits = OpRow::kView | OpRow::kInOrder | OpRow::kSharesStorage,
     .attributes = "axes",
     .shape = squeeze,
     .lower = lower::squeeze,
     .host_from = 1,
     .example = "f32[B,8,1,1] i64[2]=[2,-1] -> f32[B,8] | flop 0 | grads in0"},
    {.name = "Tile",
     .traits = OpRow::kRepeats,
     .inputs = 2,
     .shape = tile,
     .lower = lower::rearrange,
     .host_from = 1,
     .example = "f32[B,1,8] i64[3]=[1,4,2] -> f32[B,4,16] | flop 0 | grads in0"},
    {.name = "Transpose",
     .traits = OpRow::kView | OpRow::kSharesStorage,
     .attributes = "perm",
     .shape = transpose,
     .lower = lower::transpose,
     .example = "f32[B,197,12,64] {perm=[0,2,1,3]} -> f32[B,12,197,64] | flop 0 | grads in0"},
    {.name = "Trilu",
     .since = 14,
     .attributes = "upper",
     .shape = at_least_matrix,
     .lower = lower::rearrange,
     .host_from = 1,
     .example = "f32[S,S] -> f32[S,S] | flop 0 | grads in0"},
    {.name = "Unsqueeze",
     .traits = OpRow::kView | OpRow::kInOrder | OpRow::kSharesStorage,
     .attributes = "axes",
     .shape = unsqueeze,
     .lower = lower::unsqueeze,
     .host_from = 1,
     .example = "f32[B,8] i64[2]=[1,-1] -> f32[B,1,8,1] | flop 0 | grads in0"},
};

}  // namespace

std::span<const OpRow> movement_rows() { return kMovementRows; }

}  // namespace plimsoll::ops
