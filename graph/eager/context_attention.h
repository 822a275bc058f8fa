// Attention over sequences of which each rank along Axis::kContext has a part: a ring of parts, or
// all of them gathered, as PyTorch's context parallelism runs it
// (torch/distributed/tensor/experimental/_context_parallel/_attention.py); or an exchange of parts
// for heads.
#pragma once

#include "graph/eager/attention_form.h"

namespace plimsoll::eager {

// Whether ranks have parts of sequences, and attend to others' keys and values.
bool shares_sequence(const Machine& m);
// ... or exchange them for heads (ContextBy::kUlysses).
bool shares_heads(const Machine& m);

// Of this rank's queries, over the keys and values of all ranks; `o` has the rank's own. Keys and
// values come by turns, or all at once, each as a kernel of its own whose result is merged in 32
// bits. Kept are the rank's own operands and the result. Where a position sees those before it
// alone, each rank has a part from either end of the sequence, and does as much as others.
Value ring_attention(Machine& m, const AttentionOperands& o, AttentionForm form,
                     const AttentionOptions& options);

// Keys and values of all ranks, for products that are separate.
AttentionOperands with_whole_sequence(Machine& m, const AttentionOperands& o);

// Of some heads over whole sequences, then exchanged back (deepspeed/sequence/layer.py,
// DistributedAttention).
Value attention_of_heads(Machine& m, const AttentionOperands& o, const AttentionOptions& options);

}  // namespace plimsoll::eager
