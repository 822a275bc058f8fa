// attention_workspace: the scratch memory of PyTorch's fused attention. Its kernels ask the
// allocator for it themselves, so that no dispatch on fake tensors sees it.
//
// Source: aten/src/ATen/native/transformers/cuda (flash_attn/flash_api.cpp, attention_backward.cu,
// mem_eff_attention/kernel_backward.h) and ATen/native/cudnn/MHA.cpp with cudnn-frontend's
// scaled_dot_product_flash_attention.h; what PyTorch 2.11 took on an H200
// (hwdb/calibrations/measured/attention-h200.csv), but for locks of 16 bytes a tile and what the
// allocator's blocks are larger than what is asked for.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

// Bytes. Backward adds up the gradient of the queries in 32 bits, and keeps a number for each query
// and head; forward needs memory for wide values alone. Copies that PyTorch makes of operands that
// do not lie in the kernel's order are not in it.
int64_t attention_workspace(const AttentionProblem<int64_t>& problem, Pass pass, DType dtype);

}  // namespace plimsoll
