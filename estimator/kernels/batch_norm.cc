#include "estimator/kernels/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "estimator/kernels/kernel_prediction.h"

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

// Three tensors are read or written forward, five backward, at this share of the bandwidth: VGG-16
// with and without norms differs by 12.3 ms on a GTX 1080 Ti at batch 12, VGG-19 by 13.5 ms
// (ryujaehun/pytorch-gpu-benchmark; 12.3 and 13.4 then follow); ResNets and DenseNets there agree.
constexpr double kForwardTensors = 3, kBackwardTensors = 5, kPersistentShare = .88;

// Elements of a channel up to which the kernel that reads them once is taken: 25088 are, 100352 are
// not (H100, cuDNN 9.19).
constexpr double kStaysOnChip = 32768;

// That kernel has a block for each channel, and two of them on a multiprocessor: each round of such
// takes so long to start, to meet between sum and result, and to end, beside the clocks that a
// multiprocessor needs for a byte; a block that is alone there keeps it less busy. From 36 norms in
// 32 bits of hwdb/calibrations/measured/operators-h100.csv, mean error 9 %; those in 16 bits, which
// had no part in it, are 16 % off, and 320 by cuDNN's own calls (tests/calibrate/cards) 9 and 17.
constexpr double kBlocksAtOnce = 2, kAlone = 1.2;
constexpr double kRoundSeconds = 2e-6;
constexpr double kForwardClocks = .24, kBackwardClocks = .44;  // of a byte of the input

double compulsory(const KernelAt& kernel) {
  return static_cast<double>(kernel.read) + static_cast<double>(kernel.written);
}

// Of compulsory traffic; one tensor read and one written, backward two read.
double tensor_bytes(const KernelAt& kernel) {
  return compulsory(kernel) / (kernel.pass == Pass::kForward ? 2 : 3);
}

double one_reading_seconds(double channels, double bytes, bool forward, const DeviceRates& rates) {
  const double busiest = std::ceil(channels / std::max(1, rates.sms));
  const double rounds = std::ceil(busiest / kBlocksAtOnce);
  const double clocks = (forward ? kForwardClocks : kBackwardClocks) * bytes / channels;
  return rounds * kRoundSeconds + std::max(busiest, kAlone) * clocks / rates.light_clock();
}

}  // namespace

bool is_batch_norm(const KernelAt& kernel) {
  return is(kernel, "batch_norm") || is(kernel, "affine");
}

SeparateNorm separate_norm(const KernelAt& kernel) {
  const bool forward = kernel.pass == Pass::kForward;
  const Row& row = is(kernel, "affine") ? kFixed : forward ? kForward : kBackward;
  return {.calls = row.calls, .bytes = tensor_bytes(kernel) * row.tensors};
}

double persistent_norm_seconds(const KernelAt& kernel, const DeviceRates& rates, double clocks) {
  const double tensors = kernel.pass == Pass::kForward ? kForwardTensors : kBackwardTensors;
  const double memory = tensors * tensor_bytes(kernel) / (kPersistentShare * rates.bandwidth);
  const auto* problem = std::get_if<RowsProblem<int64_t>>(&kernel.problem);
  if (clocks <= 0 || rates.clock <= 0 || problem == nullptr) return memory;
  const double channels = std::max(1.0, static_cast<double>(problem->rows));
  const double working = std::min(channels, static_cast<double>(rates.sms));
  const double shared = memory * rates.sms / working;
  const double elements = tensor_bytes(kernel) / element_bytes(kernel);
  if (elements / channels <= kStaysOnChip) {
    const bool forward = kernel.pass == Pass::kForward;
    return std::max(memory, one_reading_seconds(channels, tensor_bytes(kernel), forward, rates));
  }
  return std::max(shared, elements * clocks / (working * rates.light_clock()));
}

}  // namespace plimsoll
