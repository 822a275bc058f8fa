// ConvGraph: one convolution in one pass as an operation graph of cuDNN.
#pragma once

#include <vector>

#include "calibrate/cudnn/backend.h"
#include "estimator/library/workspace/conv_question.h"

namespace plimsoll {

class ConvGraph {
 public:
  // Tensors 'x', 'w' and 'y' aligned to 16 bytes, fp32 accumulation (fp64 for fp64),
  // cross-correlation; on the GPU of a handle, where there is one. Throws CudnnRefusal.
  ConvGraph(const CudnnFunctions& cudnn, const ConvQuestion& question,
            cudnnHandle_t handle = nullptr);
  const Descriptor& graph() const { return parts_.back(); }

 private:
  std::vector<Descriptor> parts_;  // each before those that it is a part of
};

}  // namespace plimsoll
