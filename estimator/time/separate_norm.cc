#include "estimator/time/separate_norm.h"

namespace plimsoll {
namespace {

// Tensors read or written: subtract, replicate, divide and copy, scale and copy. The two products
// of depth one that replicate count twice: they reach half of the bandwidth of copies
// (nicklhy/DLInfBench, ResNets at batch 16 and 32 on GTX 1080 Ti); the statistics, products with a
// vector of ones for each plane and powers, take as long again as eleven (Inception-v3 there).
struct Row {
  int64_t calls;
  double tensors;
};
// Fixed statistics are scaled, which is a copy and a scaling each; those of a batch are four
// products with vectors and two sums with what was, of a scaling and a sum each
// (src/caffe/util/math_functions.cu). Backward the bias' sum, a call for each image, is left out.
constexpr Row kFixed{.calls = 14, .tensors = 15};
constexpr Row kForward{.calls = 19, .tensors = 26};
constexpr Row kBackward{.calls = 18, .tensors = 24};

}  // namespace

SeparateNorm separate_norm(const KernelAt& kernel) {
  const bool forward = kernel.pass == Pass::kForward;
  const Row& row = kernel.op == "affine" ? kFixed : forward ? kForward : kBackward;
  const double bytes = static_cast<double>(kernel.read) + static_cast<double>(kernel.written);
  return {.calls = row.calls, .bytes = bytes / (forward ? 2 : 3) * row.tensors};
}

}  // namespace plimsoll
