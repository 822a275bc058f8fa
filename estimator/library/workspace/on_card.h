// workspace_on_card: what cuDNN 9 runs on a card of compute capability 9.0, but does not name when
// it is asked about a card that is only described.
//
// Source: the scratch memory of convolutions on one H100 (cuDNN 9.19,
// tests/golden/workspaces/h100-measured.csv), beside cuDNN's own answers for a described H100.
#pragma once

#include <optional>

#include "estimator/library/workspace/formula.h"

namespace plimsoll {

// Bytes of a filter of one pixel on tensor cores, where the images' channels come first and cuDNN
// makes it one matrix product for each image: no operand is turned around; the weights' gradients
// are kept for each image, then summed. Nothing where it does not: 724 of the 810 measured ones
// with planes of several pixels, on which its limits were chosen, are told apart.
std::optional<int64_t> product_for_each_image(const WorkspaceShape& shape, Pass pass, DType dtype);

// The most that a plan takes which is named there for gradients of such a filter's weights, strided
// or not: ten partial sums for each image. Autotuned first steps of ResNet-50, DenseNet-121 and
// MobileNet-v2 at batch 64 with TF32 (tests/measured/h100-networks-memory.json) hold 640, 636 and
// 641 filters above what lives beside them, at the one layer of each where that is most. One batch
// was measured: that they grow with it is assumed, and that 16 bits take as many. 0 for other
// convolutions; 1e15 at most.
int64_t largest_for_weights(const WorkspaceShape& shape, Pass pass);

}  // namespace plimsoll
