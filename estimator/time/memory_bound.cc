#include "estimator/time/memory_bound.h"

#include <algorithm>

#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

// Of the reads that overlapping windows repeat, this share misses the caches: max-pooling of 2x2,
// 3x3 stride 2 and 3x3 stride 1 on a TITAN X (convnet-benchmarks, Caffe) takes 1.0, 1.5 and 3.15
// times the compulsory traffic.
constexpr double kRepeatedReads = .52;

// A forward pass' traffic relative to the compulsory. One flop is one read of a window.
double pool_reads(const KernelAt& kernel) {
  const double read = static_cast<double>(kernel.read);
  const double elements = read * 8 / std::max(bits(kernel.dtype), 8);
  if (elements <= 0) return 1;
  const double repeats = std::max(0.0, static_cast<double>(kernel.flop) / elements - 1);
  return 1 + kRepeatedReads * repeats * read / (read + static_cast<double>(kernel.written));
}

}  // namespace

MemoryBoundModel::MemoryBoundModel(std::span<const double> terms, double bandwidth, double sms)
    : terms_(terms),
      bandwidth_(bandwidth * terms[kRowsBandwidth]),
      fixed_(terms[kRowsFixed] * 1e-6),
      in_flight_(terms[kRowsWave] * 1048576),
      sms_(sms) {}

double MemoryBoundModel::traffic_factor(const KernelAt& kernel) const {
  const bool forward = kernel.pass == Pass::kForward;
  const auto* rows = std::get_if<RowsProblem<int64_t>>(&kernel.problem);
  switch (kernel.kernel_class) {
    case KernelClass::kNorm:
      if (kernel.op == "layer_norm" || kernel.op == "group_norm") return terms_[kXLayerNorm];
      if (kernel.op == "lrn") return 1;
      return forward ? terms_[kXNormForward] : terms_[kXNormBackward];
    case KernelClass::kSoftmax:
      return rows != nullptr && rows->columns > 1024 ? terms_[kXSoftmaxLong] : terms_[kXSoftmax];
    case KernelClass::kPool:
      return forward ? terms_[kXPoolForward] * pool_reads(kernel) : terms_[kXPoolBackward];
    case KernelClass::kReduce:
      return terms_[kXReduce];
    case KernelClass::kGather:
    case KernelClass::kScatter:
      return terms_[kXIndex];
    case KernelClass::kCopy:
      return kernel.op == "concat" ? terms_[kXConcat] : 1;
    default:
      return 1;
  }
}

double MemoryBoundModel::seconds(const KernelAt& kernel) const {
  const double bytes = static_cast<double>(kernel.read) + static_cast<double>(kernel.written);
  return fixed_ + traffic_factor(kernel) * (bytes + in_flight_) / bandwidth_;
}

}  // namespace plimsoll
