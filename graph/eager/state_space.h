// The scan of a selective state space (Mamba 2; Dao, Gu, arXiv:2405.21060): each head has a matrix
// that decays by what a position says and to which it adds.
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

struct StateSpaceInputs {
  Value x;           // [N, S, heads, P]
  Value dt;          // [N, S, heads]: the step sizes, before their offset
  Value decay;       // [heads]: A, in 32 bits
  Value b, c;        // [N, S, groups, D]: what is written and what is read
  Value skip;        // [heads]: D, x's own factor
  Value dt_offsets;  // [heads]
};

// -> [N, S, heads, P] in 32 bits. In chunks of so many positions, operator by operator, as
// transformers runs it where no fused kernels are installed (transformers 5.24,
// models/mamba2/modeling_mamba2.py, mamba2_chunk_scan). Cost: that of 70 operators.
Value state_space_scan(Machine& m, const StateSpaceInputs& in, int64_t chunk);

// One position, whose state [N, heads, P, D] is read and written (mamba2_selective_state_update,
// priced as one kernel over the state).
Value state_space_step(Machine& m, const StateSpaceInputs& in, const Value& state);

}  // namespace plimsoll::eager
