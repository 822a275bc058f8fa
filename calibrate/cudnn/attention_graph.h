// AttentionGraph: fused attention in one pass as an operation graph of cuDNN 9, which finds by its
// shape that one kernel runs all of it. The operations and their order are those of NVIDIA's
// cudnn-frontend (include/cudnn_frontend/node/scaled_dot_product_flash_attention.h), which PyTorch
// calls (aten/src/ATen/native/cudnn/MHA.cpp).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "calibrate/cudnn/backend.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

class AttentionGraph {
 public:
  // Of 16 bits, as a framework trains: forward keeps each row's statistics, backward reads them.
  // On the GPU of a handle, where there is one. Throws CudnnRefusal, also for a mask, of which
  // nothing tells what it covers.
  AttentionGraph(const CudnnFunctions& cudnn, const AttentionProblem<int64_t>& problem, Pass pass,
                 DType dtype, cudnnHandle_t handle = nullptr);

  const Descriptor& graph() const { return parts_.back(); }
  struct Operand {
    int64_t id;
    int64_t bytes;  // on the card
  };
  const std::vector<Operand>& operands() const { return operands_; }
  // Given by value, from the host's memory.
  struct Scalar {
    int64_t id;
    float value;
  };
  const std::deque<Scalar>& scalars() const { return scalars_; }

 private:
  friend class AttentionBuilder;
  std::deque<Descriptor> parts_;  // each before those that it is a part of
  std::vector<Operand> operands_;
  std::deque<Scalar> scalars_;
};

}  // namespace plimsoll
