// CudnnTensor: a tensor as cuDNN's calls before its graphs describe it.
#pragma once

#include <array>

#include "calibrate/card/cudnn_descriptor.h"
#include "graph/base/dtype.h"

namespace plimsoll::calibrate {

// Throws CardFault, E724 for other types than fp64, fp32, fp16 and bf16.
cudnnDataType_t cudnn_type(DType dtype);
// Extents are ints there. Throws CardFault E724.
int narrow(int64_t extent);

class CudnnTensor {
 public:
  // Dense, of [n, c, h, w], in the order of `format`. Throws CardFault.
  CudnnTensor(const CudnnHandle& cudnn, DType dtype, const std::array<int64_t, 4>& extents,
              cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW);
  // Dense, of three extents, as recurrent layers' states are.
  CudnnTensor(const CudnnHandle& cudnn, DType dtype, const std::array<int64_t, 3>& extents);

  cudnnTensorDescriptor_t raw() const { return descriptor_.get(); }
  int64_t bytes() const { return bytes_; }

 private:
  CudnnDescriptor<cudnnTensorDescriptor_t> descriptor_;
  int64_t bytes_;
};

// A result times 1, what was there times 0: in the type that cuDNN wants for operands of `dtype`.
class CudnnScale {
 public:
  explicit CudnnScale(DType dtype) : wide_(dtype == DType::kFloat64) {}
  const void* one() const { return wide_ ? static_cast<const void*>(&one64_) : &one32_; }
  const void* zero() const { return wide_ ? static_cast<const void*>(&zero64_) : &zero32_; }

 private:
  bool wide_;
  float one32_ = 1, zero32_ = 0;
  double one64_ = 1, zero64_ = 0;
};

}  // namespace plimsoll::calibrate
