// A convolution that many tests ask about.
#pragma once

#include "estimator/library/workspace/formula.h"

namespace plimsoll::test {

// The second layer of ResNet-50's first blocks: 64 to 64 channels at 56x56.
inline constexpr WorkspaceShape kThreeByThree{.n = 32,
                                              .c = 64,
                                              .h = 56,
                                              .w = 56,
                                              .k = 64,
                                              .r = 3,
                                              .s = 3,
                                              .pad_h = 1,
                                              .pad_w = 1,
                                              .p = 56,
                                              .q = 56};

}  // namespace plimsoll::test
