#include "estimator/library/product.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "estimator/kernels/fit_class.h"
#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, kGemmTileCount> kTileNames = {
    "128x128", "128x64", "64x128", "64x64", "128x32", "32x128", "32x32", "64x16", "16x64"};

// A matrix times so few vectors is read once: libraries have kernels of their own for it, or split
// k. Recurrent layers of 1, 2 and 4 sequences take the same time for a step, at 0.7 of the
// bandwidth (DeepBench, inference, on three Pascal cards), products with 8 rows up to 0.6 and 0.8
// (DeepBench); AlexNet's steps grow from 1 image to 8 by what its convolutions take, on all cards
// but Kepler's and in every framework of nicklhy/DLInfBench and apache/mxnet docs/faq/perf.md.
constexpr int64_t kThin = 8;
constexpr int kThinSince = 50;  // compute capability
// ... unless k is so long: the first linear layer of VGG (25088) costs 2 to 3 ms more for 2 images
// than for one on all cards of DLInfBench, AlexNet's (9216) nothing. Between them lies what 48 KiB
// of shared memory hold of a vector in 32 bits.
constexpr int64_t kLongestThin = 12288;

bool is_thin(const GemmProblem<int64_t>& p, const DeviceRates& rates) {
  const int64_t vectors = std::min(p.m, p.n);
  const bool few = vectors <= kThin && p.k <= kLongestThin;
  return p.batch == 1 && (vectors == 1 || (few && rates.compute_capability >= kThinSince));
}

KernelPrediction predict_thin_product(const KernelAt& kernel, const ClassModel& model,
                                      const TimeContext& context) {
  const double bytes = static_cast<double>(kernel.read) + static_cast<double>(kernel.written);
  const double sustained = context.rates().bandwidth * context.rows().fit->terms[kRowsBandwidth];
  return {.seconds = model.fixed + bytes / sustained,
          .flop = static_cast<double>(kernel.flop),
          .bytes = bytes,
          .memory_bound = true};
}

}  // namespace

KernelPrediction predict_product(const KernelAt& kernel, const ClassModel& model,
                                 const TimeContext& context) {
  const auto& p = std::get<GemmProblem<int64_t>>(kernel.problem);
  if (context.rows().fit && is_thin(p, context.rates())) {
    return predict_thin_product(kernel, model, context);
  }
  const GemmCost cost = model.gemm->cost(product_shape(kernel));
  return {.seconds = cost.seconds,
          .compute_seconds = cost.compute_seconds,
          .memory_seconds = cost.memory_seconds,
          .flop = cost.flop,
          .bytes = cost.bytes,
          .algorithm = kTileNames[static_cast<size_t>(cost.tile)],
          .memory_bound = cost.memory_seconds > cost.compute_seconds};
}

}  // namespace plimsoll
