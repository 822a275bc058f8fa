#include "calibrate/learn_correction.h"

#include <Eigen/Dense>
#include <algorithm>

#include "estimator/time/correction.h"

namespace plimsoll {

Tents default_tents(std::string_view kernel_class) {
  if (kernel_class == "gemm") return {{2, 3, 3, 3, 2.5, 2, 6}, .95, .05};
  if (kernel_class == "conv") return {{6, 3.5, 2.5, 1.2, 1.5, .9, 2.4, .95}, .95, .1};
  if (kernel_class == "recurrent") return {{1.8, 1.3, 7, 2.5, .95, 1.4}, .9, .04};
  if (kernel_class == "persistent") return {{1.4, 1.4, 5, 1, .5, .5}, .9, .05};
  return {};
}

Correction learn_correction(const std::vector<Leftover>& leftovers, const Tents& tents,
                            std::vector<std::string> devices) {
  const auto n = static_cast<Eigen::Index>(leftovers.size());
  Eigen::MatrixXd covariance(n, n);
  Eigen::VectorXd ratios(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Leftover& a = leftovers[static_cast<size_t>(i)];
    // One slow outlier must not bend its neighbourhood.
    ratios[i] = std::clamp(a.log_ratio, -1.2, 1.2);
    for (Eigen::Index j = 0; j <= i; ++j) {
      const Leftover& b = leftovers[static_cast<size_t>(j)];
      const double near = nearness(a.features, b.features, tents.reach) *
                          (a.device == b.device ? 1 : tents.kinship);
      covariance(i, j) = covariance(j, i) = near + (i == j ? tents.noise : 0);
    }
  }
  const Eigen::VectorXd weights = covariance.ldlt().solve(ratios);
  Correction correction{.reach = tents.reach,
                        .kinship = tents.kinship,
                        .devices = std::move(devices),
                        .file = {},
                        .points = {},
                        .device_of = {},
                        .weights = {}};
  for (Eigen::Index i = 0; i < n; ++i) {
    const Leftover& a = leftovers[static_cast<size_t>(i)];
    correction.points.insert(correction.points.end(), a.features.begin(), a.features.end());
    correction.device_of.push_back(a.device);
    correction.weights.push_back(weights[i]);
  }
  return sorted(std::move(correction));
}

}  // namespace plimsoll
