// The composites of domain "plimsoll": what recover() makes of an exporter's pieces, and what a
// config's layers become where ONNX has no operator for them.
#include <fmt/format.h>

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

// q [N,heads,S,D], k [N,kv_heads,T,D], v [N,kv_heads,T,E], mask -> [N,heads,S,E].
Result<void> attention(InferContext& c) {
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
  Shape out = q;
  out.back() = v.back();
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

// x [T,N,in], or [N,T,in] where batch_first; per layer and direction w_ih, w_hh, b_ih, b_hh, any of
// which may be absent but w_hh [gates*hidden, hidden]; h0, c0 -> y, h and, of an LSTM, c.
Result<void> recurrent(InferContext& c) {
  if (auto checked = require_rank(c, 0, 3, 3); !checked) return checked;
  if (!c.has(2)) return c.fail("E253", "the first recurrent weight is missing");
  if (auto checked = require_rank(c, 2, 2, 2); !checked) return checked;
  const int64_t layers = c.attributes().integer("layers", 1);
  const int64_t directions = c.attributes().integer("directions", 1);
  if (layers < 1 || directions < 1 || directions > 2) {
    return c.fail("E247", fmt::format("{} layers in {} directions", layers, directions));
  }
  const bool batch_first = c.attributes().integer("batch_first", 0) != 0;
  const Dim& hidden = c.shape(2)[1];
  Shape y = c.shape(0);
  const Shape state{Dim(layers * directions), y[batch_first ? 0 : 1], hidden};
  y[2] = hidden * Dim(directions);
  c.set(0, c.dtype(0), std::move(y));
  c.set(1, c.dtype(0), state);
  c.set(2, c.dtype(0), state);
  return {};
}

constexpr OpRow kRows[] = {
    {.name = "Attention",
     .domain = "plimsoll",
     .inputs = 3,
     .shape = attention,
     .lower = lower::attention,
     .example = "f32[B,8,S,64] f32[B,8,T,64] f32[B,8,T,64] -> f32[B,8,S,64]"},
    {.name = "Contiguous",
     .domain = "plimsoll",
     .shape = like_first,
     .lower = lower::contiguous,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Linear",
     .domain = "plimsoll",
     .inputs = 2,
     .shape = linear,
     .lower = lower::linear,
     .example = "f32[B,S,16] f32[4,16] f32[4] -> f32[B,S,4]"},
    {.name = "Recurrent",
     .domain = "plimsoll",
     .shape = recurrent,
     .lower = lower::recurrent,
     .example = "f32[S,B,8] f32[64,8] f32[64,16] f32[64] f32[64] {cell=\"lstm\"} -> "
                "f32[S,B,16] f32[1,B,16] f32[1,B,16]"},
    {.name = "RmsNorm",
     .domain = "plimsoll",
     .shape = like_first,
     .lower = lower::rms_norm,
     .example = "f32[B,S,16] f32[16] -> f32[B,S,16]"},
    {.name = "Rsqrt",
     .domain = "plimsoll",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Silu",
     .domain = "plimsoll",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
};

}  // namespace

std::span<const OpRow> composite_rows() { return kRows; }

}  // namespace plimsoll::ops
