// Attention as one operator, and rotary positions.
#include <fmt/format.h>

#include "graph/base/try.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// d / heads, which must leave nothing over. E246.
Result<Dim> per_head(InferContext& c, const Dim& d, int64_t heads) {
  if (heads < 1) return c.fail("E246", fmt::format("{} attention heads", heads));
  const Dim size = floor_div(d, heads);
  if (c.decider().equal(size * Dim(heads), d)) return size;
  return c.fail("E246", fmt::format("{} features do not divide into {} heads", d.text(), heads));
}

// An operand as [batch, heads, sequence, size].
Result<Shape> by_heads(InferContext& c, size_t input, std::string_view heads_name) {
  TRY(require_rank(c, input, 3, 4));
  const Shape& x = c.shape(input);
  if (x.size() == 4) return x;
  const auto heads = TRY(c.required_integer(heads_name));
  const auto size = TRY(per_head(c, x[2], heads));
  return Shape{x[0], heads, x[1], size};
}

// Query, key, value, mask, past key, past value -> y, present key, present value, the scores.
Result<void> attention(InferContext& c) {
  const auto query = TRY(by_heads(c, 0, "q_num_heads"));
  const auto key = TRY(by_heads(c, 1, "kv_num_heads"));
  const auto value = TRY(by_heads(c, 2, "kv_num_heads"));
  if (auto same = require_equal(c, query[3], key[3], "sizes of query and key heads"); !same) {
    return same;
  }
  Dim total = key[2];
  if (c.has(4)) {
    if (auto checked = require_rank(c, 4, 4, 4); !checked) return checked;
    total += c.shape(4)[2];
  }
  const Dim& batch = query[0];
  const Dim& heads = query[1];
  const Dim& queries = query[2];
  c.set(0, c.dtype(0),
        c.rank(0) == 4 ? Shape{batch, heads, queries, value[3]}
                       : Shape{batch, queries, heads * value[3]});
  c.set(1, c.dtype(1), {batch, key[1], total, key[3]});
  c.set(2, c.dtype(2), {batch, value[1], total, value[3]});
  c.set(3, c.dtype(0), {batch, heads, queries, total});
  return {};
}

// com.microsoft: x [batch, sequence, in] times weights [in, 3*hidden] into the three operands.
Result<void> packed_attention(InferContext& c) {
  if (auto checked = require_rank(c, 0, 3, 3); !checked) return checked;
  if (auto checked = require_rank(c, 1, 2, 2); !checked) return checked;
  const auto heads = TRY(c.required_integer("num_heads"));
  const auto sizes = c.attributes().integers("qkv_hidden_sizes");
  const Dim hidden = sizes.size() == 3 ? Dim(sizes[2]) : floor_div(c.shape(1)[1], 3);
  const auto size = TRY(per_head(c, hidden, heads));
  const Shape& x = c.shape(0);
  Dim total = x[1];
  if (c.has(4)) {
    if (auto checked = require_rank(c, 4, 5, 5); !checked) return checked;
    total += c.shape(4)[3];
  }
  c.set(0, c.dtype(0), {x[0], x[1], hidden});
  c.set(1, c.dtype(0), {2, x[0], heads, total, size});
  return {};
}

// com.microsoft: query [batch, sequence, hidden], key, value [batch, keys, value hidden], the
// latter also as [batch, heads, keys, size].
Result<void> multi_head_attention(InferContext& c) {
  if (auto checked = require_rank(c, 0, 3, 3); !checked) return checked;
  TRY(c.required_integer("num_heads"));
  Shape out = c.shape(0);
  if (c.has(2)) {
    if (auto checked = require_rank(c, 2, 3, 4); !checked) return checked;
    const Shape& value = c.shape(2);
    out[2] = value.size() == 3 ? value[2] : value[1] * value[3];
  }
  if (c.outputs() > 1) return c.fail("E210", "present keys and values are not supported");
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Result<void> rotary(InferContext& c) {
  if (auto checked = require_rank(c, 0, 3, 4); !checked) return checked;
  return like_first(c);
}

constexpr OpRow kAttentionRows[] = {
    {.name = "Attention",
     .traits = OpRow::kOneType | OpRow::kAttends,
     .since = 23,
     .inputs = 3,
     .attributes = "is_causal kv_num_heads left_window_size q_num_heads qk_matmul_output_mode "
                   "right_window_size scale softcap softmax_precision",
     .shape = attention,
     .lower = lower::onnx_attention,
     .example = "f32[B,S,96] f32[B,T,32] f32[B,T,64] {q_num_heads=12, kv_num_heads=4} -> "
                "f32[B,S,192] | flop 576*B*S*T | keeps f32[B,12,32*floor(S + 31 / 32)] i64[] i64[] "
                "in0 in1 in2 out0 | grads in0 in1 in2"},
    {.name = "Attention",
     .traits = OpRow::kOneType | OpRow::kAttends,
     .weights = slots(1, 2),
     .domain = "com.microsoft",
     .inputs = 2,
     .attributes = "do_rotary mask_filter_value num_heads past_present_share_buffer "
                   "qkv_hidden_sizes rotary_embedding_dim scale unidirectional",
     .shape = packed_attention,
     .lower = lower::packed_attention,
     .example = "f32[B,S,96] f32[96,288] f32[288] {num_heads=12} -> f32[B,S,96] | flop 384*B*S*S + "
                "55296*B*S | keeps f32[B,12,32*floor(S + 31 / 32)] f32[B,12,S,8] i64[] i64[] in0 "
                "in1 out0 | grads in0 in1 in2"},
    {.name = "MultiHeadAttention",
     .traits = OpRow::kAttends,
     .domain = "com.microsoft",
     .attributes = "mask_filter_value num_heads scale unidirectional",
     .shape = multi_head_attention,
     .lower = lower::onnx_attention,
     .example =
         "f32[B,S,96] f32[B,T,96] f32[B,T,96] {num_heads=12} -> f32[B,S,96] | flop 384*B*S*T | "
         "keeps f32[B,12,32*floor(S + 31 / 32)] i64[] i64[] in0 in1 in2 out0 | grads in0 in1 in2"},
    {.name = "RotaryEmbedding",
     .since = 23,
     .inputs = 3,
     .attributes = "interleaved num_heads rotary_embedding_dim",
     .shape = rotary,
     .lower = lower::rearrange,
     .example =
         "f32[B,12,S,8] f32[100,4] f32[100,4] i64[B,S] -> f32[B,12,S,8] | flop 0 | grads in0"},
    {.name = "RotaryEmbedding",
     .domain = "com.microsoft",
     .inputs = 4,
     .attributes = "interleaved is_packed_batching num_heads rotary_embedding_dim scale",
     .shape = rotary,
     .lower = lower::rearrange,
     .example = "f32[B,S,96] i64[B,S] f32[100,4] f32[100,4] -> f32[B,S,96] | flop 0 | grads in0"},
};

}  // namespace

std::span<const OpRow> attention_rows() { return kAttentionRows; }

}  // namespace plimsoll::ops
