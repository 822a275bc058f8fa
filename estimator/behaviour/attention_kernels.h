// Which fused attention kernels a card has under a framework and its library.
#pragma once

#include "estimator/request/platform.h"

namespace plimsoll {

// As PyTorch's dispatch has it where the framework chooses (ATen/native/transformers/cuda/
// sdp_utils.cpp); the profile's own elsewhere. None of them where products are asked for.
AttentionKernels attention_kernels(const Platform& platform, AskedAttention asked);

}  // namespace plimsoll
