// Batch norm in other ways than the library's usual kernel.
#pragma once

#include <cstdint>

#include "estimator/kernels/device_rates.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

// With statistics of the batch, or with fixed ones ("affine").
bool is_batch_norm(const KernelAt& kernel);

// As Caffe runs it: a sequence of plain kernels, in two layers (batch_norm_layer.cu and
// scale_layer.cu, Forward_gpu and Backward_gpu, both in place).
struct SeparateNorm {
  int64_t calls = 0;
  double bytes = 0;  // of device memory, in all calls
};
SeparateNorm separate_norm(const KernelAt& kernel);

// CUDNN_BATCHNORM_SPATIAL_PERSISTENT, which a framework must ask for: the multiprocessors share a
// channel and meet between its two readings. Seconds of one with the batch's statistics, without
// its launch. `clocks`: of one multiprocessor for an element, 0 where not known; with it, channels
// that do not fit on the chip are bound by instructions, and no more multiprocessors work than
// there are channels.
double persistent_norm_seconds(const KernelAt& kernel, const DeviceRates& rates, double clocks);
// It is the usual kernel on cards before this compute capability, and in 64 bits (cuDNN's
// documentation).
inline constexpr int kPersistentNormSince = 60;

}  // namespace plimsoll
