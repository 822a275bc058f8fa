// Where a problem stands among measured ones: the coordinates in which a calibration's correction
// interpolates. Sizes enter as logarithms, facts as 0 or 1.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "estimator/time/conv_algorithms.h"
#include "estimator/time/gemm.h"
#include "estimator/time/keeping.h"
#include "estimator/time/recurrent_algorithm.h"
#include "graph/kernel.h"

namespace plimsoll {

// The feature that a batch changes most, by kernel class; of products one of these, depending on
// what the batch is in them.
std::vector<size_t> swept_features(std::string_view kernel_class);
inline constexpr size_t kMostSwept = 3;
size_t swept_by(const GemmShape& shape);

// ln m, n, k, batch; a_t, b_t; how often 2 divides k, at most 7.
std::array<double, 7> gemm_features(const GemmShape& shape);
// ... of many, where all but one extent stays the same; one of `logarithms` for each.
std::array<double, 7> gemm_features(const GemmShape& shape, std::array<Logarithm, 4>& logarithms);
// ln N, C, K, side of the output, side of the filter; strided, padded, pass.
std::array<double, 8> conv_features(const ConvShape& shape);
// ln hidden, batch, timesteps, gates; pass; at most 32 sequences.
std::array<double, 6> recurrent_features(const RecurrentProblem<int64_t>& problem, Pass pass);
// ln hidden, batch, timesteps; gates; pass; algorithm.
std::array<double, 6> persistent_features(const RecurrentProblem<int64_t>& problem,
                                          RecurrentAlgorithm algorithm, Pass pass);

}  // namespace plimsoll
