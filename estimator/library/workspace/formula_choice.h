// Choices that no table and no card is asked for: their bytes follow from the problem.
#pragma once

#include <optional>
#include <string>

#include "estimator/library/workspace/choice.h"
#include "estimator/library/workspace/formula.h"

namespace plimsoll {

// PyTorch's own convolution, which takes images one by one, and groups; a product of pixels needs
// no columns (aten/src/ATen/native/cuda/ConvolutionMM2d.cu).
WorkspaceChoice columns_of_one_image(const WorkspaceShape& shape, DType dtype);

// The algorithm that the user asks for; none where it cannot do the problem, or where the library
// has it no more: cuDNN 9 lists neither Fourier transforms nor Winograd in three kernels.
std::optional<WorkspaceChoice> choice_of(const WorkspaceShape& shape, Pass pass, DType dtype,
                                         int cudnn_major, const std::string& algorithm);

// What cuDNN 5 to 7 offers and takes, of at most `limit` bytes.
WorkspaceChoice legacy_of(const WorkspaceShape& shape, Pass pass, DType dtype, int capability,
                          std::optional<int64_t> limit);

// A 3-D problem: between nothing and copies of all operands.
WorkspaceChoice bounds_only(const ConvProblem<int64_t>& problem, DType dtype, int capability);

}  // namespace plimsoll
