#include "estimator/kernels/memory_bound.h"

#include <algorithm>

#include "estimator/kernels/kernel_prediction.h"
#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

// Of the reads that overlapping windows repeat, this share misses the caches: max-pooling of 2x2,
// 3x3 stride 2 and 3x3 stride 1 on a TITAN X (convnet-benchmarks, Caffe) takes 1.0, 1.5 and 3.15
// times the compulsory traffic.
constexpr double kRepeatedReads = .52;

// How often a forward pass reads an element: one flop is one read of a window.
double window_reads(const KernelAt& kernel) {
  const double elements = static_cast<double>(kernel.read) / element_bytes(kernel);
  return elements > 0 ? static_cast<double>(kernel.flop) / elements : 1;
}

// A forward pass' traffic relative to the compulsory.
double pool_reads(const KernelAt& kernel) {
  const double read = static_cast<double>(kernel.read);
  const double repeats = std::max(0.0, window_reads(kernel) - 1);
  const double all = read + static_cast<double>(kernel.written);
  return all > 0 ? 1 + kRepeatedReads * repeats * read / all : 1;
}

// A window's reads take a part of an element's clocks; those given are of windows of 3x3, stride 2,
// which read each 2.25 times. Average pools of 2x2 forward, read once, then come out as measured.
constexpr double kReadsGiven = 2.25, kReadsOfRest = 2.1;
// ... and take so much longer backward than max pools (4.65 clocks against 2.5 of 2x2, 3.15 of
// 3x3).
constexpr double kAverageBackward = 1.6;
// A gradient is cleared, then written.
constexpr double kWritesBackward = 2;

// Batch norm with fixed statistics in 32 bits is cuDNN's, and takes so much longer than PyTorch's
// own of 16 (1.00 against .84 clocks: ResNet-50, DenseNet-121 and MobileNet-v2 on H100).
constexpr double kLibraryAffine = 1.18;

// Reading x twice makes 1.5; 17 layer norms of 85 to 5886 columns on an H100 took as much as 1.9.
constexpr double kOddLayerNormTraffic = 1.9;

}  // namespace

MemoryBoundModel::MemoryBoundModel(std::span<const double> terms, const DeviceRates& rates)
    : terms_(terms),
      bandwidth_(rates.bandwidth * terms[kRowsBandwidth]),
      fixed_(terms[kRowsFixed] * 1e-6),
      in_flight_(terms[kRowsWave] * 1048576),
      clock_rate_(rates.sms * rates.light_clock()) {}

double MemoryBoundModel::norm_clocks(Pass pass) const {
  return terms_[pass == Pass::kForward ? kClocksNormForward : kClocksNormBackward];
}

double MemoryBoundModel::norm_last_seconds(const KernelAt& kernel) const {
  const bool forward = kernel.pass == Pass::kForward;
  const double each = terms_[forward ? kClocksNormLastForward : kClocksNormLastBackward];
  const double elements = static_cast<double>(kernel.written) / element_bytes(kernel);
  return clock_rate_ > 0 ? elements * each / clock_rate_ : 0;
}

// Of all elements, on one multiprocessor.
double MemoryBoundModel::clocks(const KernelAt& kernel) const {
  const bool forward = kernel.pass == Pass::kForward;
  const auto elements = [&](int64_t bytes) {
    return static_cast<double>(bytes) / element_bytes(kernel);
  };
  switch (kernel.kernel_class) {
    case KernelClass::kPool: {
      if (forward) {
        return elements(kernel.read) * terms_[kClocksPoolForward] *
               (window_reads(kernel) + kReadsOfRest) / (kReadsGiven + kReadsOfRest);
      }
      const double longer = is(kernel, "max_pool") ? 1 : kAverageBackward;
      return elements(kernel.written) / kWritesBackward * longer * terms_[kClocksPoolBackward];
    }
    case KernelClass::kGather:
    case KernelClass::kScatter:
      return elements(kernel.written) *
             terms_[forward ? kClocksIndexForward : kClocksIndexBackward];
    case KernelClass::kCopy:
      return is(kernel, "copy") ? elements(kernel.written) * terms_[kClocksCopy] : 0;
    case KernelClass::kPointwise:
      if (kernel.op != "affine" && kernel.op != "bias") return 0;
      return elements(kernel.written) * terms_[kClocksChannel] *
             (is(kernel, "affine") && element_bytes(kernel) > 2 ? kLibraryAffine : 1);
    default:
      return 0;
  }
}

double MemoryBoundModel::traffic_factor(const KernelAt& kernel) const {
  const bool forward = kernel.pass == Pass::kForward;
  const auto* rows = std::get_if<RowsProblem<int64_t>>(&kernel.problem);
  switch (kernel.kernel_class) {
    case KernelClass::kNorm:
      if (is(kernel, "layer_norm") || is(kernel, "group_norm")) {
        if (is_odd_layer_norm(kernel)) return kOddLayerNormTraffic;
        const double backward = terms_[kXLayerNormBackward];
        return forward || backward == 0 ? terms_[kXLayerNorm] : backward;
      }
      if (is(kernel, "lrn")) return 1;
      return forward ? terms_[kXNormForward] : terms_[kXNormBackward];
    case KernelClass::kSoftmax:
      if (!forward && terms_[kXSoftmaxBackward] > 0) return terms_[kXSoftmaxBackward];
      return rows != nullptr && rows->columns > 1024 ? terms_[kXSoftmaxLong] : terms_[kXSoftmax];
    case KernelClass::kPool:
      return forward ? terms_[kXPoolForward] * pool_reads(kernel) : terms_[kXPoolBackward];
    case KernelClass::kReduce:
      return terms_[kXReduce];
    case KernelClass::kGather:
    case KernelClass::kScatter:
      return terms_[kXIndex];
    case KernelClass::kCopy:
      return kernel.op.starts_with("concat") ? terms_[kXConcat] : 1;
    default:
      return 1;
  }
}

// Vector loads take four numbers; other widths have kernels of their own, which read x twice
// (PyTorch's ATen/native/cuda/layer_norm_kernel.cu).
bool MemoryBoundModel::is_odd_layer_norm(const KernelAt& kernel) const {
  const auto* rows = std::get_if<RowsProblem<int64_t>>(&kernel.problem);
  return is(kernel, "layer_norm") && kernel.pass == Pass::kForward && rows != nullptr &&
         rows->columns % 4 != 0 && terms_[kClocksLayerNormOddRow] > 0;
}

MemoryBoundCost MemoryBoundModel::cost(const KernelAt& kernel, bool by_element) const {
  const double bytes = static_cast<double>(kernel.read) + static_cast<double>(kernel.written);
  const double factor = traffic_factor(kernel);
  const double memory = factor * (bytes + in_flight_) / bandwidth_;
  double seconds = fixed_ + memory;
  if (clock_rate_ > 0 && is(kernel, "layer_norm") && kernel.pass == Pass::kForward) {
    const auto* rows = std::get_if<RowsProblem<int64_t>>(&kernel.problem);
    const double count = rows != nullptr ? static_cast<double>(rows->rows) : 0;
    const double each =
        terms_[is_odd_layer_norm(kernel) ? kClocksLayerNormOddRow : kClocksLayerNormRow];
    seconds += count * each / clock_rate_;
  } else if (clock_rate_ > 0 && (by_element || is(kernel, "bias"))) {
    // A bias is added with the same index in any layout.
    seconds = fixed_ + std::max(memory, clocks(kernel) / clock_rate_);
  }
  return {seconds, bytes * factor};
}

}  // namespace plimsoll
