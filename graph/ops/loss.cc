// Losses.
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// scores [n, classes, d...], targets [n, d...]: one number, or one per target without reduction.
Result<void> loss(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2); !checked) return checked;
  if (auto checked = require_rank(c, 1, c.rank(0) - 1, c.rank(0) - 1); !checked) return checked;
  Shape targets = c.shape(0);
  targets.erase(targets.begin() + 1);
  for (size_t i = 0; i < targets.size(); ++i) {
    auto same = require_equal(c, targets[i], c.shape(1)[i], "extents of scores and targets");
    if (!same) return same;
  }
  const bool reduced = c.attributes().string("reduction", "mean") != "none";
  c.set(0, c.dtype(0), reduced ? Shape{} : targets);
  c.set(1, c.dtype(0), c.shape(0));  // the log-probabilities of SoftmaxCrossEntropyLoss
  return {};
}

constexpr OpRow kLossRows[] = {
    {.name = "NegativeLogLikelihoodLoss",
     .since = 12,
     .inputs = 2,
     .attributes = "ignore_index reduction",
     .shape = loss,
     .lower = lower::negative_log_likelihood,
     .example = "f32[B,10] i64[B] {reduction=\"none\"} -> f32[B] | flop B | keeps f32[] in0 in1 | "
                "grads in0"},
    {.name = "SoftmaxCrossEntropyLoss",
     .since = 12,
     .inputs = 2,
     .attributes = "ignore_index reduction",
     .shape = loss,
     .lower = lower::softmax_cross_entropy,
     .example = "f32[B,10,S] i64[B,S] -> f32[] f32[B,10,S] | flop 51*B*S | keeps f32[] in1 out1 | "
                "grads in0"},
};

}  // namespace

std::span<const OpRow> loss_rows() { return kLossRows; }

}  // namespace plimsoll::ops
