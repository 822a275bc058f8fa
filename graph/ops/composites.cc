// The composites of domain "plimsoll": what recover() makes of an exporter's pieces, and what a
// config's layers become where ONNX has no operator for them.
#include <fmt/format.h>

#include "graph/base/try.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// x [.., in] times weight [out, in], transposed, plus bias [out].
Result<void> linear(InferContext& c) {
  if (auto checked = require_rank(c, 0, 1); !checked) return checked;
  if (auto checked = require_rank(c, 1, 2, 2); !checked) return checked;
  if (auto same =
          require_equal(c, c.shape(0).back(), c.shape(1)[1], "features of input and weight");
      !same) {
    return same;
  }
  if (c.has(2)) {
    if (auto checked = require_rank(c, 2, 1, 1); !checked) return checked;
    auto same = require_equal(c, c.shape(2)[0], c.shape(1)[0], "features of weight and bias");
    if (!same) return same;
  }
  Shape out = c.shape(0);
  out.back() = c.shape(1)[0];
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

// x [S, in], sorted by group, weight [groups, out, in] -> [S, out].
Result<void> grouped_linear(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2, 2); !checked) return checked;
  if (auto checked = require_rank(c, 1, 3, 3); !checked) return checked;
  auto same = require_equal(c, c.shape(0)[1], c.shape(1)[2], "features of input and weight");
  if (!same) return same;
  c.set(0, c.dtype(0), {c.shape(0)[0], c.shape(1)[1]});
  return {};
}

// x [R, ...], indices -> one row of x for each index.
Result<void> index(InferContext& c) {
  if (auto checked = require_rank(c, 0, 1); !checked) return checked;
  Shape out = c.shape(1);
  out.insert(out.end(), c.shape(0).begin() + 1, c.shape(0).end());
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

// i64[S] -> i32[groups]
Result<void> group_offsets(InferContext& c) {
  if (auto checked = require_rank(c, 0, 1, 1); !checked) return checked;
  const auto groups = TRY(c.required_integer("groups"));
  if (groups < 1) return c.fail("E247", "groups must be at least 1");
  c.set(0, DType::kInt32, {Dim(groups)});
  return {};
}

// weight [E, out, in] or [out, in], a [r E, in], b [out, r E] -> like weight.
Result<void> adapted_weight(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2, 3); !checked) return checked;
  for (size_t i = 1; i < 3; ++i) {
    if (auto checked = require_rank(c, i, 2, 2); !checked) return checked;
  }
  const Shape& weight = c.shape(0);
  if (auto same = require_equal(c, weight.back(), c.shape(1)[1], "features that are read"); !same)
    return same;
  if (auto same = require_equal(c, weight[weight.size() - 2], c.shape(2)[0], "features made");
      !same)
    return same;
  if (auto same = require_equal(c, c.shape(1)[0], c.shape(2)[1], "ranks of both factors"); !same)
    return same;
  c.set(0, c.dtype(0), weight);
  return {};
}

// q [N,heads,S,D], k [N,kv_heads,T,D], v [N,kv_heads,T,E], mask -> [N,heads,S,E].
Result<void> scaled_dot_product(InferContext& c) {
  for (size_t i = 0; i < 3; ++i) {
    if (auto checked = require_rank(c, i, 2); !checked) return checked;
  }
  const Shape& q = c.shape(0);
  const Shape& k = c.shape(1);
  const Shape& v = c.shape(2);
  if (auto same = require_equal(c, q.back(), k.back(), "sizes of query and key heads"); !same)
    return same;
  auto same = require_equal(c, k[k.size() - 2], v[v.size() - 2], "numbers of keys and values");
  if (!same) return same;
  Shape out = q, weights = q;
  out.back() = v.back();
  weights.back() = k[k.size() - 2];
  c.set(0, c.dtype(0), std::move(out));
  if (c.outputs() > 1) c.set(1, c.dtype(0), std::move(weights));
  return {};
}

// query, key [N,S,heads of keys,D], value [N,S,heads,E], decay, beta [N,S,heads] -> like value.
Result<void> gated_delta_rule(InferContext& c) {
  for (size_t i = 0; i < 5; ++i) {
    const size_t rank = i < 3 ? 4 : 3;
    if (auto checked = require_rank(c, i, rank, rank); !checked) return checked;
  }
  const Shape &q = c.shape(0), &k = c.shape(1), &v = c.shape(2);
  if (auto same = require_equal(c, q[3], k[3], "sizes of query and key heads"); !same) return same;
  for (const size_t i : {size_t{3}, size_t{4}}) {
    if (auto same = require_equal(c, c.shape(i)[2], v[2], "heads of values and rates"); !same)
      return same;
  }
  c.set(0, c.dtype(0), v);
  return {};
}

// queries [N,T,H], keys [N,S,H], weight [H] -> [N,T,S].
Result<void> additive_scores(InferContext& c) {
  for (size_t i = 0; i < 2; ++i) {
    if (auto checked = require_rank(c, i, 3, 3); !checked) return checked;
  }
  if (auto checked = require_rank(c, 2, 1, 1); !checked) return checked;
  const Shape& q = c.shape(0);
  const Shape& k = c.shape(1);
  if (auto same = require_equal(c, q[0], k[0], "samples of queries and keys"); !same) return same;
  for (const Dim& size : {k[2], c.shape(2)[0]}) {
    if (auto same = require_equal(c, q[2], size, "features of queries and keys"); !same)
      return same;
  }
  c.set(0, c.dtype(0), {q[0], q[1], k[1]});
  return {};
}

// Two halves along `axis`, one gating the other.
Result<void> glu(InferContext& c) {
  const auto axis = TRY(c.axis(c.attributes().integer("axis", -1), c.shape(0).size()));
  Shape out = c.shape(0);
  const Dim half = floor_div(out[axis], Dim(2));
  if (auto same = require_equal(c, half + half, out[axis], "two halves and the whole"); !same)
    return same;
  out[axis] = half;
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

// table [rows, D], indices [n], begin of each bag -> [bags, D]
Result<void> embedding_bag(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2, 2); !checked) return checked;
  if (auto checked = require_rank(c, 2, 1, 1); !checked) return checked;
  const Dim last = c.attributes().integer("include_last_offset", 0);
  c.set(0, c.dtype(0), {c.shape(2)[0] - last, c.shape(0)[1]});
  return {};
}

// Images pooled to `sizes`.
Result<void> adaptive_pool(InferContext& c) {
  const std::vector<int64_t> sizes = c.attributes().integers("sizes");
  if (auto checked = require_rank(c, 0, sizes.size() + 2, sizes.size() + 2); !checked)
    return checked;
  Shape out(c.shape(0).begin(), c.shape(0).begin() + 2);
  for (const int64_t size : sizes) out.push_back(Dim(size));
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

// [N, C, height, width] cut into overlapping windows: [N, C, windows...].
Result<void> im2col(InferContext& c) {
  if (auto checked = require_rank(c, 0, 4, 4); !checked) return checked;
  Shape out(c.shape(0).begin(), c.shape(0).begin() + 2);
  for (const int64_t size : c.attributes().integers("windows")) out.push_back(Dim(size));
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

// What it reads, side by side, in some of that many columns.
Result<void> copied_columns(InferContext& c) {
  if (auto checked = require_rank(c, 0, 1); !checked) return checked;
  Shape out = c.shape(0);
  out.back() = Dim(c.attributes().integer("columns", 0));
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

constexpr OpRow kCompositeRows[] = {
    {.name = "AdaptedWeight",
     .weights = slots(0, 1, 2),
     .domain = "plimsoll",
     .inputs = 3,
     .shape = adapted_weight,
     .lower = lower::adapted_weight,
     .example = "f32[8,4,16] f32[16,16] f32[4,16] -> f32[8,4,16] | flop 4096 | keeps in1 in2 | "
                "grads in0 in1 in2"},
    {.name = "AdaptiveAveragePool",
     .domain = "plimsoll",
     .attributes = "sizes",
     .shape = adaptive_pool,
     .lower = lower::global_average_pool,
     .example =
         "f32[B,8,14,14] {sizes=[4,4]} -> f32[B,8,4,4] | flop 1568*B | keeps in0 | grads in0"},
    {.name = "Addcmul",
     .domain = "plimsoll",
     .inputs = 3,
     .shape = broadcast_rule,
     .lower = lower::addcmul,
     .example =
         "f32[4] f32[4] f32[B,4] -> f32[B,4] | flop 8*B | keeps in1 in2 | grads in0 in1 in2"},
    {.name = "AdditiveScores",
     .domain = "plimsoll",
     .inputs = 3,
     .shape = additive_scores,
     .lower = lower::additive_scores,
     .example = "f32[B,T,16] f32[B,S,16] f32[16] -> f32[B,T,S] | flop 176*B*S*T | keeps "
                "f32[B,T,S,16] in2 | grads in0 in1 in2"},
    {.name = "Assign",
     .domain = "plimsoll",
     .inputs = 2,
     .attributes = "cloned",  // where 1, what it writes to is read later
     .shape = like_first,
     .lower = lower::assign,
     .example = "f32[B,8] f32[B,4] -> f32[B,8] | flop 0 | grads in0 in1"},
    {.name = "Attention",
     .traits = OpRow::kOneType | OpRow::kAttends | OpRow::kDrops,
     .domain = "plimsoll",
     .inputs = 3,
     // `code`: who wrote what calls it; of "transformers" also what is behind it.
     .attributes = "apart by_rows causal code dropout grouped latent masked padded scaled shifted "
                   "softcap wide wide_scores window",
     .shape = scaled_dot_product,
     .lower = lower::attention,
     .example =
         "f32[B,8,S,64] f32[B,8,T,64] f32[B,8,T,64] -> f32[B,8,S,64] | flop 2048*B*S*T | keeps "
         "f32[B,8,32*floor(S + 31 / 32)] i64[] i64[] in0 in1 in2 out0 | grads in0 in1 in2"},
    {.name = "BloomGelu",
     .traits = OpRow::kRectifier,
     .domain = "plimsoll",
     .shape = like_first,
     .lower = lower::gelu_function,
     .example = "f32[B,4] -> f32[B,4] | flop 36*B | keeps in0 | grads in0"},
    {.name = "Contiguous",
     .domain = "plimsoll",
     .attributes = "always training",  // where 1, a copy in any case; only then
     .shape = like_first,
     .lower = lower::contiguous,
     .example = "f32[B,4] -> f32[B,4] | flop 0 | grads in0"},
    {.name = "CopiedColumns",
     .domain = "plimsoll",
     .inputs = kEveryInput,
     .attributes = "columns",
     .shape = copied_columns,
     .lower = lower::copied_columns,
     .example = "f32[B,8] {columns=12} -> f32[B,12] | flop 0 | keeps in0 | grads in0"},
    {.name = "Detach",
     .traits = OpRow::kView | OpRow::kInOrder | OpRow::kSharesStorage,
     .domain = "plimsoll",
     .shape = like_first,
     .lower = lower::detach,
     .example = "f32[B,4] -> f32[B,4] | flop 0"},
    {.name = "EmbeddingBag",
     .domain = "plimsoll",
     .inputs = 3,
     .attributes = "include_last_offset mode",
     .shape = embedding_bag,
     .lower = lower::embedding_bag,
     .host_from = 2,  // what the file holds, a call makes of rows of equal length
     .example = "f32[100,16] i64[S] i64[B] {mode=\"sum\"} -> f32[B,16] | flop 0 | keeps i64[B] "
                "i64[B] i64[S] in1 | grads in0"},
    {.name = "GatedDeltaRule",
     .traits = OpRow::kOverTime,
     .domain = "plimsoll",
     .inputs = 5,
     .attributes = "kernel",  // positions before this one that a causal convolution reads too
     .shape = gated_delta_rule,
     .lower = lower::gated_delta_rule,
     .example = "f32[B,64,2,8] f32[B,64,2,8] f32[B,64,2,8] f32[B,64,2] f32[B,64,2] -> "
                "f32[B,64,2,8] | flop 690064*B + 4096 | keeps bool[64,64] f32[2*B,64,64] "
                "f32[2*B,64,8] f32[2*B,64,8] f32[2*B,64,8] f32[2*B,8,64] f32[2*B,8,64] "
                "f32[2*B,8,8] f32[B,2,1,64,1] f32[B,2,1,64,1] f32[B,2,1,64,64] "
                "f32[B,2,1,64,64] f32[B,2,1,64,64] f32[B,2,1,64,64] f32[B,2,1,64,8] "
                "f32[B,2,1,64,8] f32[B,2,1,64,8] f32[B,2,1,64,8] f32[B,2,64,1] f32[B,2,64,1] "
                "f32[B,2,64,1] f32[B,2,64,8] f32[B,2,64,8] in0 in1 | grads in0 in1 in2 in3 "
                "in4"},
    {.name = "Glu",
     .domain = "plimsoll",
     .attributes = "axis",
     .shape = glu,
     .lower = lower::glu,
     .example = "f32[B,8] {axis=1} -> f32[B,4] | flop 36*B | keeps in0 | grads in0"},
    {.name = "GroupOffsets",
     .domain = "plimsoll",
     .attributes = "groups",
     .shape = group_offsets,
     .lower = lower::group_offsets,
     .example = "i64[S] {groups=8} -> i32[8] | flop 0"},
    {.name = "GroupedLinear",
     .traits = OpRow::kDense | OpRow::kOneType | OpRow::kOutputsFirst,
     .weights = slots(1),
     .domain = "plimsoll",
     .inputs = 2,
     .shape = grouped_linear,
     .lower = lower::grouped_linear,
     .example = "f32[S,16] f32[8,4,16] i32[8] -> f32[S,4] | flop 128*S | keeps in0 in1 in2 | grads "
                "in0 in1"},
    {.name = "Im2Col",
     .domain = "plimsoll",
     .attributes = "windows",
     .shape = im2col,
     .lower = lower::rearrange,
     .example = "f32[B,8,16,16] {windows=[3,3,14,14]} -> f32[B,8,3,3,14,14] | flop 0 | grads in0"},
    {.name = "Index",
     .domain = "plimsoll",
     .inputs = 2,
     .shape = index,
     .lower = lower::index,
     .example = "f32[B,8] i64[4] -> f32[4,8] | flop 0 | keeps in1 | grads in0"},
    {.name = "IndexPut",
     .domain = "plimsoll",
     .inputs = 3,
     .attributes = "cloned",  // as Assign's
     .shape = like_first,
     .lower = lower::index_put,
     .example = "f32[B,8] i64[4] f32[B,4] -> f32[B,8] | flop 0 | keeps in1 | grads in0 in2"},
    {.name = "Linear",
     .traits = OpRow::kDense | OpRow::kOneType | OpRow::kOutputsFirst,
     .weights = slots(1, 2),
     .domain = "plimsoll",
     .inputs = 2,
     .attributes = "compute",  // of a quantized weight: the type of the product
     .shape = linear,
     .lower = lower::linear,
     .example = "f32[B,S,16] f32[4,16] f32[4] -> f32[B,S,4] | flop 128*B*S | keeps in0 in1 | grads "
                "in0 in1 in2"},
    {.name = "MaskedAdd",
     .domain = "plimsoll",
     .inputs = 3,
     .shape = like_first,
     .lower = lower::masked_add,
     .example =
         "f32[B,S,8] bool[B,S,1] f32[4,8] -> f32[B,S,8] | flop 32 | keeps in1 | grads in0 in2"},
    {.name = "MaskedScatter",
     .domain = "plimsoll",
     .inputs = 3,
     .shape = like_first,
     .lower = lower::masked_scatter,
     .example = "f32[B,S,8] bool[B,S,1] f32[4,8] -> f32[B,S,8] | flop 0 | keeps in1 | grads in0 "
                "in2"},
    {.name = "RmsNorm",
     .traits = OpRow::kNorm,
     .weights = slots(1),
     .domain = "plimsoll",
     .attributes = "epsilon",
     .shape = like_first,
     .lower = lower::rms_norm,
     .example = "f32[B,S,16] f32[16] -> f32[B,S,16] | flop 178*B*S | keeps f32[B,S,16] f32[B,S,1] "
                "in0 in1 | grads in0 in1"},
    {.name = "Rsqrt",
     .domain = "plimsoll",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps out0 | grads in0"},
    {.name = "Silu",
     .traits = OpRow::kRectifier,
     .domain = "plimsoll",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps in0 | grads in0"},
    {.name = "SliceScatter",
     .domain = "plimsoll",
     .inputs = 2,
     .shape = like_first,
     .lower = lower::slice_scatter,
     .example = "f32[B,8] f32[B,4] -> f32[B,8] | flop 0 | grads in0 in1"},
    {.name = "SpectralNorm",
     .weights = slots(0),
     .statistics = slots(1, 2),
     .domain = "plimsoll",
     .inputs = 3,
     .attributes = "axis",
     .shape = like_first,
     .lower = lower::spectral_norm,
     .example = "f32[8,4,3,3] f32[8] f32[36] -> f32[8,4,3,3] | flop 2032 | keeps f32[1,8] "
                "f32[36,1] f32[8,1] f32[] in0 | grads in0 in1 in2"},
    {.name = "WantGradient",
     .traits = OpRow::kView | OpRow::kInOrder | OpRow::kSharesStorage,
     .domain = "plimsoll",
     .shape = like_first,
     .lower = lower::want_gradient,
     .example = "f32[B,4] -> f32[B,4] | flop 0"},
    {.name = "WeightNorm",
     .domain = "plimsoll",
     .inputs = 2,
     .attributes = "axis",
     .shape = like_first,
     .lower = lower::weight_norm,
     .example = "f32[8,4,3] f32[8,1,1] -> f32[8,4,3] | flop 288 | keeps f32[8,1,1] in0 in1 | grads "
                "in0 in1"},
};

}  // namespace

std::span<const OpRow> composite_rows() { return kCompositeRows; }

}  // namespace plimsoll::ops
