// OperationGraph: operations of cuDNN 9's graph interface that it is to run as one kernel, and what
// they work on: attention_graph.h, norm_graph.h.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "calibrate/cudnn/backend.h"

namespace plimsoll {

class OperationGraph {
 public:
  const Descriptor& graph() const { return parts_.back(); }
  struct Operand {
    int64_t id;
    int64_t bytes;  // on the card
  };
  const std::vector<Operand>& operands() const { return operands_; }
  // Of those operands that a caller has to bring as scratch memory, beside the plan's own.
  int64_t scratch_bytes() const { return scratch_bytes_; }
  // Given by value, from the host's memory.
  struct Scalar {
    int64_t id;
    float value;
  };
  const std::deque<Scalar>& scalars() const { return scalars_; }

 private:
  friend class GraphBuilder;
  std::deque<Descriptor> parts_;  // each before those that it is a part of
  std::vector<Operand> operands_;
  std::deque<Scalar> scalars_;
  int64_t scratch_bytes_ = 0;
};

// Makes one, an operation after the other; a value is the descriptor of its tensor. All throw
// CudnnRefusal.
class GraphBuilder {
 public:
  using Value = const Descriptor*;
  struct Sizes {
    std::vector<int64_t> extents, strides;
  };

  GraphBuilder(const CudnnFunctions& cudnn, cudnnDataType_t type) : cudnn_(cudnn), type_(type) {}

  // On the card: in the operands' type, or statistics in 32 bits.
  Value operand(const Sizes& sizes) { return tensor(sizes, type_, Kind::kOperand); }
  Value statistics(const Sizes& sizes) { return tensor(sizes, CUDNN_DATA_FLOAT, Kind::kOperand); }
  // Scratch memory of 32 bits; what blocks add up there lies in the order of tensor cores' tiles.
  Value scratch(const Sizes& sizes,
                cudnnBackendTensorReordering_t order = CUDNN_TENSOR_REORDERING_NONE);
  // Where a stream of random numbers begins.
  Value seed() { return tensor({{1, 1, 1, 1}, {1, 1, 1, 1}}, CUDNN_DATA_INT64, Kind::kOperand); }
  Value scalar(float value);
  // Only within the kernel.
  Value inner(const Sizes& sizes, cudnnDataType_t type) {
    return tensor(sizes, type, Kind::kInner);
  }
  cudnnDataType_t type() const { return type_; }

  // What an operation is told of itself, and the operation.
  Descriptor& part(cudnnBackendDescriptorType_t type) {
    return graph_.parts_.emplace_back(cudnn_, type);
  }
  void finish(Descriptor& operation, const char* what);
  // On the GPU of a handle, where there is one.
  OperationGraph finish_graph(cudnnHandle_t handle);

 private:
  enum class Kind { kOperand, kScalar, kInner };
  Value tensor(const Sizes& sizes, cudnnDataType_t type, Kind kind,
               cudnnBackendTensorReordering_t order = CUDNN_TENSOR_REORDERING_NONE);

  const CudnnFunctions& cudnn_;
  OperationGraph graph_;
  cudnnDataType_t type_;
  int64_t next_ = 0;  // id of the last tensor
  std::vector<cudnnBackendDescriptor_t> operations_;
};

}  // namespace plimsoll
