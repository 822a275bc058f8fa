// Reductions along axes, and running sums.
#include <algorithm>

#include "graph/base/try.h"
#include "graph/ops/data_propagation.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// Axes are an attribute, and an input since opset 13 (ReduceSum) or 18 (the others). None given
// means all, unless noop_with_empty_axes.
Result<void> reduce_over(InferContext& c, const Shape& whole, size_t axes_input) {
  const size_t rank = whole.size();
  const auto given = TRY(axes_argument(c, axes_input));
  std::vector<bool> reduced(rank, false);
  if (given && !given->empty()) {
    const auto axes = TRY(normalized_axes(c, *given, rank));
    for (const size_t axis : axes) reduced[axis] = true;
  } else if (c.attributes().integer("noop_with_empty_axes", 0) == 0) {
    reduced.assign(rank, true);
  }
  const bool keep = c.attributes().integer("keepdims", 1) != 0;
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    if (!reduced[i]) {
      shape.push_back(whole[i]);
    } else if (keep) {
      shape.push_back(1);
    }
  }
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

Result<void> reduce(InferContext& c) { return reduce_over(c, c.shape(0), 1); }

// Of two tensors that are broadcast against each other.
Result<void> reduce_both(InferContext& c) {
  const auto whole = broadcast(c.shape(0), c.shape(1), c.decider());
  if (!whole) return c.fail("E247", "the two tensors have extents that do not fit");
  return reduce_over(c, *whole, 2);
}

// The same, following the contents of a vector that is reduced to one number.
template <Fold fold>
Result<void> followed_reduce(InferContext& c) {
  if (auto done = reduce(c); !done) return done;
  const auto values = known(c, 0);
  if (!values || values->empty() || c.rank(0) != 1) return {};
  if (c.attributes().integer("noop_with_empty_axes", 0) != 0) return {};
  std::optional<Fraction> total = values->front();
  for (size_t i = 1; i < values->size() && total; ++i) {
    total = fold(c, *total, (*values)[i], !is_float(c.dtype(0)));
  }
  if (total) set_known(c, 0, {*total});
  return {};
}

Result<void> arg_extremum(InferContext& c) {
  const auto axis = TRY(c.axis(c.attributes().integer("axis", 0), c.rank(0)));
  Shape shape = c.shape(0);
  if (c.attributes().integer("keepdims", 1) != 0) {
    shape[axis] = 1;
  } else {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  c.set(0, DType::kInt64, std::move(shape));
  return {};
}

constexpr OpRow kReduceRows[] = {
    {.name = "ArgMax",
     .attributes = "axis keepdims select_last_index",
     .shape = arg_extremum,
     .lower = lower::arg_extremum,
     .example = "f32[B,10] {axis=1, keepdims=0} -> i64[B] | flop 10*B"},
    {.name = "ArgMin",
     .attributes = "axis keepdims select_last_index",
     .shape = arg_extremum,
     .lower = lower::arg_extremum,
     .example = "f32[B,10] {axis=1} -> i64[B,1] | flop 10*B"},
    {.name = "CumProd",
     .since = 26,
     .inputs = 2,
     .attributes = "exclusive reverse",
     .shape = like_first,
     .lower = lower::keep_inputs,
     .host_from = 1,
     .example = "f32[B,S] i64[] -> f32[B,S] | flop B*S | keeps in0 | grads in0"},
    {.name = "CumSum",
     .since = 11,
     .inputs = 2,
     .attributes = "exclusive reverse",
     .shape = like_first,
     .lower = lower::cumulative_sum,
     .host_from = 1,
     .example = "i64[B,S] i64[] -> i64[B,S] | flop 0"},
    {.name = "ReduceL1",
     .attributes = "axes keepdims noop_with_empty_axes",
     .shape = reduce,
     .lower = lower::reduce_keeping_both,
     .host_from = 1,
     .example = "f32[B,4,8] i64[1]=[2] -> f32[B,4,1] | flop 32*B | keeps in0 out0 | grads in0"},
    {.name = "ReduceL2",
     .attributes = "axes keepdims noop_with_empty_axes",
     .shape = reduce,
     .lower = lower::reduce_l2,
     .host_from = 1,
     .example = "f32[B,4,8] i64[1]=[-1] {keepdims=0} -> f32[B,4] | flop 32*B | keeps in0 out0 | "
                "grads in0"},
    {.name = "ReduceLogSum",
     .attributes = "axes keepdims noop_with_empty_axes",
     .shape = reduce,
     .lower = lower::reduce_keeping_input,
     .host_from = 1,
     .example = "f32[B,4,8] i64[1]=[1] -> f32[B,1,8] | flop 32*B | keeps in0 | grads in0"},
    {.name = "ReduceLogSumExp",
     .attributes = "axes keepdims noop_with_empty_axes",
     .shape = reduce,
     .lower = lower::reduce_log_sum_exp,
     .host_from = 1,
     .example = "f32[B,4,8] -> f32[1,1,1] | flop 32*B | keeps in0 out0 | grads in0"},
    {.name = "ReduceMax",
     .traits = OpRow::kExtremum,
     .attributes = "axes keepdims noop_with_empty_axes",
     .shape = followed_reduce<fold_max>,
     .lower = lower::reduce_extremum,
     .host_from = 1,
     .example = "f32[B,4,8] {axes=[1,2], opset=13} -> f32[B,1,1] | flop 32*B | keeps in0 out0 | "
                "grads in0"},
    {.name = "ReduceMean",
     .attributes = "axes keepdims noop_with_empty_axes",
     .shape = reduce,
     .lower = lower::reduce_mean,
     .host_from = 1,
     .example = "f32[B,8,7,7] i64[2]=[2,3] {keepdims=0} -> f32[B,8] | flop 392*B | grads in0"},
    {.name = "ReduceMin",
     .traits = OpRow::kExtremum,
     .attributes = "axes keepdims noop_with_empty_axes",
     .shape = followed_reduce<fold_min>,
     .lower = lower::reduce_extremum,
     .host_from = 1,
     .example = "f32[B,4,8] -> f32[1,1,1] | flop 32*B | keeps in0 out0 | grads in0"},
    {.name = "ReduceProd",
     .attributes = "axes keepdims noop_with_empty_axes",
     .shape = followed_reduce<fold_mul>,
     .lower = lower::reduce_keeping_both,
     .host_from = 1,
     .example = "f32[B,4,8] {keepdims=0} -> f32[] | flop 32*B | keeps in0 out0 | grads in0"},
    {.name = "ReduceSum",
     .attributes = "axes keepdims noop_with_empty_axes",
     .shape = followed_reduce<fold_add>,
     .lower = lower::reduce_sum,
     .host_from = 1,
     .example = "f32[B,4,8] i64[1]=[0] {keepdims=0} -> f32[4,8] | flop 32*B | grads in0"},
    {.name = "ReduceSumSquare",
     .attributes = "axes keepdims noop_with_empty_axes",
     .shape = reduce,
     .lower = lower::reduce_keeping_input,
     .host_from = 1,
     .example = "f32[B,4] i64[1]=[1] -> f32[B,1] | flop 4*B | keeps in0 | grads in0"},
    {.name = "CosineSimilarity",
     .domain = "plimsoll",
     .inputs = 2,
     .attributes = "axes keepdims noop_with_empty_axes",
     .shape = reduce_both,
     .lower = lower::cosine_similarity,
     .host_from = 2,
     .example =
         "f32[B,4,8] f32[4,8] i64[1]=[2] {keepdims=0} -> f32[B,4] | flop 192*B | keeps f32[B,4,1] "
         "f32[B,4,1] f32[B,4,1] f32[B,4,1] f32[B,4,8] f32[B,4,8] in0 in1 | grads in0 in1"},
    {.name = "Std",
     .domain = "plimsoll",
     .attributes = "axes keepdims noop_with_empty_axes",
     .shape = reduce,
     .lower = lower::standard_deviation,
     .host_from = 1,
     .example = "f32[B,4,8] i64[1]=[2] -> f32[B,4,1] | flop 32*B | keeps in0 out0 | grads in0"},
    {.name = "Var",
     .domain = "plimsoll",
     .attributes = "axes keepdims noop_with_empty_axes",
     .shape = reduce,
     .lower = lower::variance,
     .host_from = 1,
     .example = "f32[B,4,8] i64[1]=[2] -> f32[B,4,1] | flop 32*B | keeps in0 | grads in0"},
};

}  // namespace

std::span<const OpRow> reduce_rows() { return kReduceRows; }

}  // namespace plimsoll::ops
