// What cuDNN runs, kernel by kernel: one file for each kind, by the interface that frameworks call
// for it. All throw CardFault: E724 where cuDNN has no such kernel, in its words where it says so.
#pragma once

#include <memory>

#include "calibrate/card/cudnn_handle.h"
#include "calibrate/card/work.h"
#include "estimator/library/workspace/conv_question.h"
#include "graph/ir/kernel.h"
#include "hwdb/device.h"

namespace plimsoll::calibrate {

// The graph interface, with each plan that its heuristic lists.
std::unique_ptr<Work> conv_work(const CudnnHandle& cudnn, const ConvQuestion& question);
// The calls of before the graphs, with each algorithm that they list: all that cuDNN 7 has, and
// what frameworks of cuDNN 8's time called for cards before Turing. 7 is best effort: nothing
// proved it.
bool takes_legacy_calls(const CudnnHandle& cudnn, const ComputeCapability& card);
std::unique_ptr<Work> legacy_conv_work(const CudnnHandle& cudnn, const KernelAt& kernel,
                                       const ConvQuestion& question);
// Batch norms with the batch's own statistics, as a framework trains; layer and RMS norms by the
// graph interface: cuDNN's own, where PyTorch has kernels of its own.
std::unique_ptr<Work> norm_work(const CudnnHandle& cudnn, const KernelAt& kernel);
// In both passes, of equal windows: cuDNN's own, where PyTorch has kernels of its own.
std::unique_ptr<Work> pool_work(const CudnnHandle& cudnn, const KernelAt& kernel);
std::unique_ptr<Work> softmax_work(const CudnnHandle& cudnn, const KernelAt& kernel);
// A stack in one pass, with each algorithm that takes it; the interface of cuDNN 8 and later.
std::unique_ptr<Work> recurrent_work(const Driver& driver, const CudnnHandle& cudnn,
                                     const KernelAt& kernel);
// Fused attention, by the graph interface: cuDNN's own alone, of the cards and types that it
// serves.
std::unique_ptr<Work> attention_work(const CudnnHandle& cudnn, const KernelAt& kernel);

}  // namespace plimsoll::calibrate
