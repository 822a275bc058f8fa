#include "estimator/time/product.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "estimator/time/features.h"
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

Draft draft_thin_product(const KernelAt& kernel, const TimeContext::Model& model,
                         const TimeContext& context) {
  const double bytes = static_cast<double>(kernel.read) + static_cast<double>(kernel.written);
  const double sustained = context.rates().bandwidth * context.rows().fit->terms[kRowsBandwidth];
  return {.seconds = model.fixed + bytes / sustained,
          .flop = static_cast<double>(kernel.flop),
          .bytes = bytes,
          .memory_bound = true};
}

// kLaneCount products from the first on, or as many as there are.
GemmShapeOf<Lanes> shapes_of(Run products) {
  const auto& first = std::get<GemmProblem<int64_t>>(products.front()->problem);
  GemmShapeOf<Lanes> shapes{.a_t = first.a_t,
                            .b_t = first.b_t,
                            .accumulate = first.accumulate,
                            .element_bytes = element_bytes(*products.front()),
                            .in_memory = true};
  for (size_t i = 0; i < std::min(kLaneCount, products.size()); ++i) {
    const auto& p = std::get<GemmProblem<int64_t>>(products[i]->problem);
    shapes.m.set(i, static_cast<double>(p.m));
    shapes.n.set(i, static_cast<double>(p.n));
    shapes.k.set(i, static_cast<double>(p.k));
    shapes.batch.set(i, static_cast<double>(p.batch));
  }
  return shapes;
}

}  // namespace

void draft_products(Run run, const TimeContext::Model& model, const TimeContext& context,
                    std::span<Draft> drafts) {
  std::array<Features, kMostInRun> features;
  std::array<Logarithm, 4> logarithms;
  size_t swept = 0;
  for (size_t begin = 0; begin < run.size(); begin += kLaneCount) {
    const GemmShapeOf<Lanes> shapes = shapes_of(run.subspan(begin));
    const GemmCostOf<Lanes> costs = model.gemm->cost(shapes);
    for (size_t i = 0; i < std::min(kLaneCount, run.size() - begin); ++i) {
      const GemmShape shape{.m = lane(shapes.m, i),
                            .n = lane(shapes.n, i),
                            .k = lane(shapes.k, i),
                            .batch = lane(shapes.batch, i),
                            .a_t = shapes.a_t,
                            .b_t = shapes.b_t};
      features[begin + i] = padded(gemm_features(shape, logarithms));
      swept = swept_by(shape);
      drafts[begin + i] = {
          .seconds = lane(costs.seconds, i),
          .flop = lane(costs.flop, i),
          .bytes = lane(costs.bytes, i),
          .algorithm = kTileNames[static_cast<size_t>(lane(costs.tile, i))],
          .memory_bound = lane(costs.memory_seconds, i) > lane(costs.compute_seconds, i)};
    }
  }
  model.correct(drafts, {features.data(), run.size()}, swept);
  if (!context.rows().fit) return;
  for (size_t i = 0; i < run.size(); ++i) {
    const auto& p = std::get<GemmProblem<int64_t>>(run[i]->problem);
    if (is_thin(p, context.rates())) drafts[i] = draft_thin_product(*run[i], model, context);
  }
}

}  // namespace plimsoll
