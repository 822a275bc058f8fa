// workspace_legacy: scratch memory of the algorithms of cuDNN 5 to 7, which cannot be asked.
// Formulas follow from the algorithms, most are not documented: a fused Winograd's 16 c k floats is
// confirmed to the byte (LBANN issue 437), the non-fused one by bracketing (cumo issue 502: 64-128
// MiB in half, 128-256 in single precision). Support conditions: cuDNN 5.1's guide, as Theano's
// tests restate it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/library/workspace/formula.h"

namespace plimsoll {

struct LegacyAlgorithm {
  const char* name;  // "winograd_nonfused"
  int64_t bytes = 0;
};

// What supports the problem, by cuDNN's numbering: IMPLICIT_GEMM first.
std::vector<LegacyAlgorithm> legacy_algorithms(const WorkspaceShape& shape, Pass pass, DType dtype);

// The algorithm that measured choices point to (DeepBench: 94 convolutions on M40, TITAN X, V100):
// Winograd for 3x3 of stride 1, fused up to Pascal, not fused from Volta on; precomputed indices
// elsewhere. `limit`: bytes at most.
LegacyAlgorithm legacy_choice(const WorkspaceShape& shape, Pass pass, DType dtype, int capability,
                              std::optional<int64_t> limit);

}  // namespace plimsoll
