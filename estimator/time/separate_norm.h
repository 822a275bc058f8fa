// Batch norm as Caffe runs it: not the library's kernel but a sequence of plain ones, in two layers
// (batch_norm_layer.cu and scale_layer.cu, Forward_gpu and Backward_gpu, both in place).
#pragma once

#include <cstdint>

#include "graph/kernel.h"

namespace plimsoll {

struct SeparateNorm {
  int64_t calls = 0;
  double bytes = 0;  // of device memory, in all calls
};

// `kernel`: is_batch_norm().
SeparateNorm separate_norm(const KernelAt& kernel);

}  // namespace plimsoll
