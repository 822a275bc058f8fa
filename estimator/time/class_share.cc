#include "estimator/time/class_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

struct LibraryKernel {
  std::string_view op;
  bool forward;
  std::string_view framework;  // empty: any that calls cuDNN
  std::string_view name;
};

// Zhu et al., TBD (IISWC 2018), tables V and VI: nvprof of ResNet-50 in TensorFlow 1.3 and MXNet
// 0.11 with cuDNN 6. Of forward batch norms a part runs bn_fw_1C11_kernel_new instead.
constexpr std::array kLibraryKernels = {
    LibraryKernel{"batch_norm", true, "", "cuda::detail::bn_fw_tr_1C11_kernel_new"},
    LibraryKernel{"batch_norm", false, "", "cuda::detail::bn_bw_1C11_kernel_new"},
    LibraryKernel{"relu", true, "mxnet", "cuda::detail::activation_fw_4d_kernel"},
    LibraryKernel{"relu", false, "mxnet", "cuda::detail::activation_bw_4d_kernel"},
    LibraryKernel{"relu", true, "tensorflow", "Eigen::internal::EigenMetaKernel"},
    LibraryKernel{"bias", true, "tensorflow", "tensorflow::BiasNHWCKernel"}};

}  // namespace

std::string class_of(const KernelAt& kernel) {
  const bool has_passes =
      kernel.kernel_class != KernelClass::kGemm && kernel.kernel_class != KernelClass::kUpdate;
  if (!has_passes) return kernel.op;
  return fmt::format("{} {}", kernel.op, name(kernel.pass));
}

std::string_view library_kernel(const KernelAt& kernel, std::string_view framework, int cudnn) {
  if (cudnn < 500 || cudnn >= 800) return {};
  const auto row = std::ranges::find_if(kLibraryKernels, [&](const LibraryKernel& k) {
    return k.op == kernel.op && k.forward == (kernel.pass == Pass::kForward) &&
           (k.framework.empty() || k.framework == framework);
  });
  return row == kLibraryKernels.end() ? std::string_view{} : row->name;
}

}  // namespace plimsoll
