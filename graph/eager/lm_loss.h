// Cross entropy of next tokens, in the forms that libraries have for it beside PyTorch's operators
// (causal_lm() of ops.h). What they differ in is how many scores exist at once, and for how long:
// of small models these are the largest tensors of all.
#pragma once

#include <functional>

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// Makes scores of the last hidden states, of some or of all positions.
using ScoresOf = std::function<Value(const Value& hidden)>;
// Is told what the network returns to the program, before the program's loss reads it.
using Returned = std::function<void(std::vector<Value> outputs)>;

// By PyTorch's operators, of a copy in 32 bits of all scores but the last position's
// (Recipe::shifts_scores); `narrow`: in the type that they have.
Value shifted_causal_lm(Machine& m, const Value& scores, bool narrow);

// One kernel reads scores [batch, positions, classes] as they are (widened, unless `narrow`, and
// copied, where the recipe shifts scores: FastForCausalLMLoss() of fms_acceleration_foak), keeps
// them with the logarithm of each row's sum, and later puts their gradient in their place (unsloth,
// kernels/cross_entropy_loss.py; flash-attn, losses/cross_entropy.py with inplace_backward).
Value fused_causal_lm(Machine& m, const Value& scores, bool narrow = false);

// Sums over `chunks` parts of all positions. torchtune, modules/loss: ce_chunked_output_loss.py,
// where the network makes and returns the scores of all parts first; with `together`
// cross_entropy_loss.py (LinearCrossEntropyLoss), which makes them part by part of the positions
// that have a target.
Value chunked_causal_lm(Machine& m, const Value& hidden, const ScoresOf& scores_of, int64_t chunks,
                        bool together, const Returned& returned = {});

// The last layer, without a bias, and the loss as one function, whose gradients are made in its
// forward pass, of as many positions at once as have scores of about the hidden states' size.
// `weight` [classes, features]. Liger-Kernel, ops/fused_linear_cross_entropy.py.
Value fused_linear_causal_lm(Machine& m, const Value& hidden, const Value& weight,
                             const ScoresOf& scores_of);

// The last layer, without a bias, and the loss as one function, which makes scores of 4,096
// positions and 32,768 classes at once, again in its backward pass, and adds gradients up in 32
// bits. TRL 1.16, kernels/chunked_logprob.py and add_fused_lm_head() of trainer/utils.py, where all
// positions but the last have a label.
Value tiled_linear_causal_lm(Machine& m, const Value& hidden, const Value& weight);

// A metric of scores: their cross entropy in 32 bits, of which nothing stays
// (composer/metrics/nlp.py, LanguageCrossEntropy, whose operators run under autocast).
void score_metric(Machine& m, const Value& scores);

}  // namespace plimsoll::eager
