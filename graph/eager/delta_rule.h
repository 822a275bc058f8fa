// The gated delta rule (Yang, Kautz, Hatamizadeh, arXiv:2412.06464), a linear attention whose
// state is a matrix for each head.
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

struct DeltaRuleInputs {
  Value query, key;   // [N, S, heads of keys, D]
  Value value;        // [N, S, heads, E]
  Value decay, beta;  // [N, S, heads]
};

// -> [N, S, heads, E]. In chunks of 64 positions, operator by operator, as transformers runs it
// where no fused kernels are installed (transformers 5.24, models/qwen3_5/modeling_qwen3_5.py,
// torch_chunk_gated_delta_rule). Cost: linear in chunks where gradients are wanted.
Value gated_delta_rule(Machine& m, const DeltaRuleInputs& in);

// One position, whose state [N, heads, D, E] is read and written (torch_recurrent_gated_delta_rule,
// priced as one kernel over the state).
Value gated_delta_step(Machine& m, const DeltaRuleInputs& in, const Value& state);

}  // namespace plimsoll::eager
