#include "calibrate/card/cudnn_tensor.h"

#include <fmt/format.h>

#include <limits>

namespace plimsoll::calibrate {

cudnnDataType_t cudnn_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return CUDNN_DATA_DOUBLE;
    case DType::kFloat32:
      return CUDNN_DATA_FLOAT;
    case DType::kFloat16:
      return CUDNN_DATA_HALF;
    case DType::kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      throw CardFault("E724", fmt::format("cuDNN has no kernel for {}", short_name(dtype)));
  }
}

int narrow(int64_t extent) {
  if (extent < 0 || extent > std::numeric_limits<int>::max())
    throw CardFault("E724", fmt::format("a size of {} is more than cuDNN supports", extent));
  return static_cast<int>(extent);
}

CudnnTensor::CudnnTensor(const CudnnHandle& cudnn, DType dtype,
                         const std::array<int64_t, 4>& extents, cudnnTensorFormat_t format)
    : descriptor_(make_descriptor<cudnnTensorDescriptor_t>(cudnn, "Tensor")),
      bytes_(bits(dtype) / 8 * extents[0] * extents[1] * extents[2] * extents[3]) {
  const auto set =
      cudnn.function<decltype(::cudnnSetTensor4dDescriptor)>("cudnnSetTensor4dDescriptor");
  const cudnnDataType_t type = cudnn_type(dtype);
  const int n = narrow(extents[0]), c = narrow(extents[1]);
  const int h = narrow(extents[2]), w = narrow(extents[3]);
  cudnn.check(set(raw(), format, type, n, c, h, w), "describe a tensor");
}

CudnnTensor::CudnnTensor(const CudnnHandle& cudnn, DType dtype,
                         const std::array<int64_t, 3>& extents)
    : descriptor_(make_descriptor<cudnnTensorDescriptor_t>(cudnn, "Tensor")),
      bytes_(bits(dtype) / 8 * extents[0] * extents[1] * extents[2]) {
  const auto set =
      cudnn.function<decltype(::cudnnSetTensorNdDescriptor)>("cudnnSetTensorNdDescriptor");
  const cudnnDataType_t type = cudnn_type(dtype);
  const int sizes[] = {narrow(extents[0]), narrow(extents[1]), narrow(extents[2])};
  const int strides[] = {narrow(extents[1] * extents[2]), narrow(extents[2]), 1};
  cudnn.check(set(raw(), type, 3, sizes, strides), "describe a tensor");
}

}  // namespace plimsoll::calibrate
