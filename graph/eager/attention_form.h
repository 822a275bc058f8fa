// Which kernel an attention operator gets, by its own operands and what AttentionKernels says of
// framework, library and card: PyTorch's dispatch (ATen/native/transformers/cuda/sdp_utils.cpp).
#pragma once

#include <optional>

#include "graph/eager/ops.h"

namespace plimsoll::eager {

struct AttentionOperands {
  Value q, k, v;  // [N, heads, S, D], as the operator reads them
  Value mask;     // or undefined
};

// Nothing: no fused kernel takes them, the products are separate. Sizes that decide are guarded.
std::optional<AttentionForm> attention_form(Machine& m, const AttentionOperands& o,
                                            const AttentionOptions& options);

}  // namespace plimsoll::eager
