// CudnnDescriptor: what cuDNN makes and takes back.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "calibrate/card/cudnn_handle.h"

namespace plimsoll::calibrate {

template <class Raw>
using CudnnDescriptor = std::unique_ptr<std::remove_pointer_t<Raw>, cudnnStatus_t (*)(Raw)>;

// "Tensor" for cudnnCreateTensorDescriptor(). Throws CardFault.
template <class Raw>
CudnnDescriptor<Raw> make_descriptor(const CudnnHandle& cudnn, const std::string& noun) {
  const std::string create = "cudnnCreate" + noun + "Descriptor";
  const std::string destroy = "cudnnDestroy" + noun + "Descriptor";
  const auto taken_back = cudnn.function<cudnnStatus_t(Raw)>(destroy.c_str());
  Raw raw = nullptr;
  cudnn.check(cudnn.function<cudnnStatus_t(Raw*)>(create.c_str())(&raw), create.c_str());
  return {raw, taken_back};
}

}  // namespace plimsoll::calibrate
