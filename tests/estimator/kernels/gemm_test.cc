#include "estimator/kernels/gemm.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "hwdb/calibration_terms.h"
#include "tests/support/convolutions.h"

namespace plimsoll {
namespace {

double tera(int64_t m, int64_t n, int64_t k, DType type, bool tensor_core) {
  KernelAt kernel{.kernel_class = KernelClass::kGemm, .op = "gemm"};
  kernel.dtype = type;
  kernel.tensor_core = tensor_core;
  kernel.flop = 2 * m * n * k;
  kernel.read = bits(type) / 8 * (m * k + k * n);
  kernel.written = bits(type) / 8 * m * n;
  kernel.problem = GemmProblem<int64_t>{.m = m, .n = n, .k = k};
  return static_cast<double>(kernel.flop) /
         kernel_time(kernel, context("h100-sxm-80gb", 919)).seconds * 1e-12;
}

// GPT-2's vocabulary of 50257 is the known case. On H100 large products of 16 bits ran at 610
// Tflop/s where rows begin at 16 bytes, at 200 to 250 at 4 and 8, at 70 to 110 at 2 (medians).
TEST_CASE("tensor cores are slow where rows do not begin at 16 bytes") {
  const double even = tera(4096, 50304, 768, DType::kFloat16, true);
  const double pairs = tera(4096, 50258, 768, DType::kFloat16, true);
  const double odd = tera(4096, 50257, 768, DType::kFloat16, true);
  CHECK(even > 2 * pairs);
  CHECK(pairs > 1.5 * odd);
  // 32 bits: four elements are 16 bytes.
  const double tf32 = tera(4096, 50304, 768, DType::kFloat32, true);
  CHECK(tf32 == doctest::Approx(tera(4096, 50300, 768, DType::kFloat32, true)).epsilon(.1));
  CHECK(tf32 > 2 * tera(4096, 50257, 768, DType::kFloat32, true));
  // Ordinary cores read words.
  CHECK(tera(4096, 50257, 768, DType::kFloat32, false) ==
        doctest::Approx(tera(4096, 50304, 768, DType::kFloat32, false)).epsilon(.05));
}

TEST_CASE("both kinds of 16 bits take the same time") {
  CHECK(tera(4096, 4096, 4096, DType::kBFloat16, true) ==
        tera(4096, 4096, 4096, DType::kFloat16, true));
}

// One tile, k of millions: a card of 132 multiprocessors is filled by as many slices. cuDNN's
// answers for a described H100 name up to 788.
TEST_CASE("a library that makes more than 32 slices fills a card with one tile") {
  std::vector<double> terms;
  for (const CoefficientRow& row : kGemmTerms) terms.push_back(row.initial);
  const GemmRates rates{.flops = 60e12, .sms = 132, .bandwidth = 3e12, .clock = 1.7e9};
  const auto cost = [&](double split, bool may_split = true) {
    terms[kSplit] = split;
    return GemmModel(terms, rates)
        .cost(GemmShape{.m = 32, .n = 32, .k = 1 << 20, .may_split = may_split});
  };
  CHECK(cost(0).split == 1);
  CHECK(cost(1).split == 32);
  CHECK(cost(2).split == 256);
  CHECK(cost(1).seconds > 3 * cost(2).seconds);
  CHECK(cost(2, false).split == 1);
}

// Every tile and every split, as the formula at the head of gemm.h says.
GemmCost by_definition(const GemmShape& s, std::span<const double> terms, const GemmRates& rates) {
  const double of_a = terms[kTransposeA], of_b = terms[kTransposeB];
  const double layout[] = {0, of_b, of_a, of_a + of_b};
  const double bandwidth = rates.bandwidth * terms[kBandwidth];
  const auto begins_at = [&](double bytes) {
    return std::fmod((s.a_t ? s.m : s.k) * s.element_bytes, bytes) == 0 &&
           std::fmod((s.b_t ? s.k : s.n) * s.element_bytes, bytes) == 0 &&
           std::fmod(s.n * s.element_bytes, bytes) == 0;
  };
  double slower = layout[2 * s.a_t + s.b_t];
  if (s.in_memory && !begins_at(16))
    slower += begins_at(2 * s.element_bytes) ? terms[kAlign] : terms[kAlignOdd];
  const double three = s.m * s.k + s.k * s.n + s.m * s.n * (s.accumulate ? 2 : 1);
  const double plain = s.bytes > 0 ? s.bytes : s.batch * three * s.element_bytes;
  const double most = terms[kSplit] > 1.5 ? 256 : terms[kSplit] > .5 ? 32 : 1;
  GemmCost best;
  best.seconds = std::numeric_limits<double>::infinity();
  for (int t = 0; t < kGemmTileCount; ++t) {
    const auto& [fast, slow, resident] = kGemmTiles[t];
    const double narrow = terms[kFewColumns];
    if (s.in_memory && ((s.n <= narrow && fast < 64) || (s.m <= narrow && slow < 64))) continue;
    const double rate = rates.flops / rates.sms * terms[kTile0 + t];
    const double tiles = std::ceil(s.n / fast) * std::ceil(s.m / slow) * s.batch;
    for (double split = 1; split <= (s.may_split ? most : 1); split *= 2) {
      if (split > 1 && (s.k < 64 * split || tiles * split > 2 * rates.sms * resident)) break;
      const double a_round = rates.sms * resident, rounds = std::floor(tiles * split / a_round);
      const double last = std::ceil((tiles * split - rounds * a_round) / rates.sms);
      const double partial = last > 0 ? last / std::pow(last / resident, terms[kResidency]) : 0;
      const double steps = std::ceil(s.k / split) + terms[kPrologue] * s.prologue + s.more_steps;
      const double compute = (rounds * resident + partial) * 2 * fast * slow * steps / rate *
                             std::exp(slower) * s.slower;
      const double bytes = plain + (split > 1 ? 8 * s.batch * s.m * s.n * split : 0);
      const double seconds = std::max(compute, bytes / bandwidth);
      if (seconds < best.seconds * (1 - 1e-12)) {
        best = {.seconds = seconds, .bytes = bytes, .tile = t, .split = static_cast<int>(split)};
      }
    }
  }
  best.seconds += terms[kFixed] * 1e-6;
  return best;
}

TEST_CASE("the search for tile and split leaves out nothing") {
  std::vector<double> terms;
  for (const CoefficientRow& row : kGemmTerms) terms.push_back(row.initial);
  std::mt19937 random(11);
  const auto extent = [&](double most) {
    return std::floor(std::exp(static_cast<double>(random()) / 4294967296.0 * std::log(most)));
  };
  int splits = 0, too_long = 0;
  std::vector<int> chosen(kGemmTileCount);
  for (int i = 0; i < 600; ++i) {
    terms[kSplit] = i % 3;
    terms[kAlign] = .2;
    terms[kFewColumns] = i % 2 ? 0 : 16;
    terms[kAlignOdd] = .4;
    terms[kTile0 + random() % kGemmTileCount] = .3 + .001 * static_cast<double>(random() % 700);
    const GemmRates rates{
        .flops = 1e12 * extent(100), .sms = extent(150), .bandwidth = 1e11 * extent(30)};
    const GemmModel model(terms, rates);
    GemmShape shape{.a_t = i % 2 == 0, .b_t = i % 5 == 0, .accumulate = i % 7 == 0};
    shape.element_bytes = i % 4 < 2 ? 2 : 4;
    shape.in_memory = i % 3 == 0;
    shape.prologue = i % 11 == 0 ? .125 : 1;
    shape.more_steps = i % 6 == 0 ? 150 : 0;
    for (int one = 0; one < 8; ++one) {
      shape.m = extent(20000);
      shape.n = extent(20000);
      shape.k = extent(200000);
      shape.batch = i % 2 ? extent(500) : 1;
      shape.bytes = i % 13 ? 0 : 1e6;
      const GemmCost cost = model.cost(shape), plain = by_definition(shape, terms, rates);
      CHECK(cost.seconds == doctest::Approx(plain.seconds).epsilon(1e-11));
      CHECK(cost.bytes == doctest::Approx(plain.bytes).epsilon(1e-11));
      CHECK(cost.tile == plain.tile);
      CHECK(cost.split == plain.split);
      // Limits shorter and longer than it takes.
      const double limit = cost.seconds * (random() % 2 ? .5 : 1.5);
      const GemmCost limited = model.cost(shape, limit);
      const bool longer = cost.seconds > limit;
      CHECK(limited.seconds == (longer ? kNoLimit : cost.seconds));
      CHECK((longer || limited.tile == cost.tile));
      too_long += longer;
      splits += cost.split > 1;
      ++chosen[static_cast<size_t>(cost.tile)];
    }
  }
  CHECK(splits > 200);
  CHECK(too_long > 1000);
  CHECK(too_long < 3800);
  CHECK(*std::ranges::min_element(chosen) > 20);
}

}  // namespace
}  // namespace plimsoll
