#include "estimator/behaviour/attention_kernels.h"

namespace plimsoll {
namespace {

// check_prefer_cudnn_attention: the first cuDNN that is right for sequences of any length. From the
// other one on it has wide heads (check_cudnn_tensor_shapes).
const Version kLibraryFirst{{9, 15, 1}}, kLibraryWide{{9, 22, 1}};
// _scaled_dot_product_attention_math keeps operands in 32 bits from this PyTorch on
// (pytorch/pytorch#128922).
const Version kSeparateInFp32{{2, 5}};

}  // namespace

AttentionKernels attention_kernels(const Platform& platform, AskedAttention form) {
  using enum AskedAttention;
  AttentionKernels kernels = platform.framework.policy.attention;
  const bool chooses = platform.framework.chooses_attention;
  kernels.separate_by_operator = chooses;
  kernels.separate_in_fp32 = chooses && !(platform.framework.asked < kSeparateInFp32);
  if (form == kEager) kernels.code = AttentionCode::kEager;
  if (form == kSdpa) kernels.code = AttentionCode::kSdpa;
  if (form == kMaskedSoftmax && kernels.memory_efficient)
    kernels.code = AttentionCode::kMaskedSoftmax;
  // Of either version.
  if (form >= kFlash) kernels.code = AttentionCode::kFlash;
  if (form == kMath) kernels.memory_efficient = false;
  kernels.of_pieces = form == kFused && kernels.memory_efficient;
  if (!chooses || !kernels.memory_efficient) return kernels;
  const auto& capability = platform.device.compute_capability;
  const int major = static_cast<int>(capability.major);
  const int minor = static_cast<int>(capability.minor);
  kernels.flash = major >= 8;
  kernels.memory_efficient_bf16 = major >= 8;
  // Cards of little shared memory: 8.6 to 8.9, and 12.x.
  kernels.flash_wide_backward = !(major == 8 && minor >= 6) && major != 12;
  // minimum_gemm_alignment: 128 bits where tensor cores read them.
  kernels.half_alignment = major >= 7 ? 8 : 1;
  kernels.alignment = major >= 8 ? 4 : 1;
  const bool data_centre = major == 9 || major == 10;
  // PyTorch prefers it from a version on; a program that calls it does not ask.
  kernels.library = data_centre && (form == kCudnn || !(platform.cudnn < kLibraryFirst));
  kernels.library_wide = kernels.library && !(platform.cudnn < kLibraryWide);
  return kernels;
}

}  // namespace plimsoll
