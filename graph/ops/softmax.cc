// Softmax and its kin.
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// Before opset 13 the default axis is 1 and everything behind it is one row.
Result<void> softmax(InferContext& c) {
  const int64_t axis = c.attributes().integer("axis", c.opset() < 13 ? 1 : -1);
  const bool vector_before_13 = c.opset() < 13 && axis == 1 && c.rank(0) == 1;
  if (c.rank(0) > 0 && !vector_before_13) {
    if (const auto plain = c.axis(axis, c.rank(0)); !plain) return tl::unexpected(plain.error());
  }
  return like_first(c);
}

constexpr OpRow kSoftmaxRows[] = {
    {.name = "Hardmax",
     .attributes = "axis",
     .shape = softmax,
     .lower = lower::no_gradient,
     .example = "f32[B,10] -> f32[B,10] | flop 10*B"},
    {.name = "LogSoftmax",
     .attributes = "axis",
     .shape = softmax,
     .lower = lower::log_softmax,
     .example = "f32[B,10] {axis=1} -> f32[B,10] | flop 50*B | keeps out0 | grads in0"},
    {.name = "Softmax",
     .traits = OpRow::kSquashing,
     .weights = slots(0),
     .attributes = "axis",
     .shape = softmax,
     .lower = lower::softmax,
     .example = "f32[B,H,S,S] {axis=-1} -> f32[B,H,S,S] | flop 5*B*H*S*S | keeps out0 | grads in0"},
};

}  // namespace

std::span<const OpRow> softmax_rows() { return kSoftmaxRows; }

}  // namespace plimsoll::ops
