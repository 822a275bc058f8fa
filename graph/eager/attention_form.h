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

// A tensor of few heads, repeated for all of the queries'.
Value repeated_heads(Machine& m, const Value& few, const Value& q);

// The operators of transformers' own attention, one by one (eager_attention_forward() of its
// models, e.g. modeling_llama.py): [N, heads, S, D], as the product has it.
Value attention_in_operators(Machine& m, const AttentionOperands& o,
                             const AttentionOptions& options);
// Megatron-LM's own (CoreAttention of megatron/model/transformer.py, 2021 to 2023): as above.
Value attention_by_masked_softmax(Machine& m, const AttentionOperands& o,
                                  const AttentionOptions& options);
// What transformers' code makes of the operands before it calls PyTorch's operator
// (integrations/sdpa_attention.py): a mask where there is a window that is narrower than the
// sequence, few heads repeated where the kernel would not take them.
AttentionOperands attention_operands(Machine& m, const AttentionOperands& o,
                                     AttentionOptions& options);

}  // namespace plimsoll::eager
