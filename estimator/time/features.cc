#include "estimator/time/features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "estimator/time/recurrent.h"

namespace plimsoll {
namespace {

double times_divisible_by_two(double value) {
  constexpr double kBeyond = 9e18;
  const auto whole = value > 0 && value < kBeyond ? static_cast<uint64_t>(value) : 0;
  if (whole == 0 || static_cast<double>(whole) != value) return 0;
  return std::min(7, std::countr_zero(whole));
}

}  // namespace

std::vector<size_t> swept_features(std::string_view kernel_class) {
  if (kernel_class == "gemm") return {0, 2, 3};
  const bool recurrent = kernel_class == "recurrent" || kernel_class == "persistent";
  return {recurrent ? size_t{1} : size_t{0}};
}

// Rows of a forward pass or a data gradient, the depth of a weight gradient, products of attention.
size_t swept_by(const GemmShape& s) { return s.batch > 1 ? 2 : s.a_t ? 1 : 0; }

std::array<double, 7> gemm_features(const GemmShape& shape) {
  std::array<Logarithm, 4> logarithms;
  return gemm_features(shape, logarithms);
}

std::array<double, 7> gemm_features(const GemmShape& s, std::array<Logarithm, 4>& logarithms) {
  auto& [m, n, k, batch] = logarithms;
  return {m(s.m),
          n(s.n),
          k(s.k),
          batch(s.batch),
          s.a_t ? 1.0 : 0.0,
          s.b_t ? 1.0 : 0.0,
          times_divisible_by_two(s.k)};
}

std::array<double, 8> conv_features(const ConvShape& s) {
  return {std::log(s.n),
          std::log(s.c),
          std::log(s.k),
          .5 * std::log(s.out[0] * s.out[1] * s.out[2]),
          .5 * std::log(s.filter[0] * s.filter[1] * s.filter[2]),
          s.stride[0] * s.stride[1] * s.stride[2] > 1 ? 1.0 : 0.0,
          s.pad[1] > 0 ? 1.0 : 0.0,
          static_cast<double>(s.pass)};
}

std::array<double, 6> recurrent_features(const RecurrentProblem<int64_t>& p, Pass pass) {
  return {std::log(static_cast<double>(p.hidden)),
          std::log(static_cast<double>(p.batch)),
          std::log(static_cast<double>(p.timesteps)),
          std::log(gate_count(p.cell)),
          static_cast<double>(pass),
          p.batch <= 32 ? 1.0 : 0.0};
}

std::array<double, 6> persistent_features(const RecurrentProblem<int64_t>& p,
                                          RecurrentAlgorithm algorithm, Pass pass) {
  return {std::log(static_cast<double>(p.hidden)),
          std::log(static_cast<double>(p.batch)),
          std::log(static_cast<double>(p.timesteps)),
          gate_count(p.cell),
          static_cast<double>(pass),
          static_cast<double>(algorithm)};
}

}  // namespace plimsoll
