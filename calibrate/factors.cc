#include "calibrate/factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace plimsoll::calibrate {
namespace {

constexpr size_t kFewest = 4;
constexpr size_t kFolds = 5;
constexpr size_t kEnoughForRange = 20;       // of a hundred, two lie outside of 90 by chance alone
constexpr double kDeviations90 = 1.645;      // of a normal distribution within 90 of 100
constexpr double kMedianDeviation = 1.4826;  // a normal distribution's, over its median deviation

double quantile(std::vector<double> values, double share) {
  const auto at =
      values.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(values.size() - 1) + .5);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

struct Ratio {
  double ln = 0;      // of measured over predicted
  double weight = 0;  // predicted
};

// ln of the factor that makes the sum of |factor * predicted - measured| least, which few outliers
// cannot move: the median of measured / predicted, weighted by what is predicted.
double least_error(std::vector<Ratio> samples) {
  std::ranges::sort(samples, {}, &Ratio::ln);
  double half = 0;
  for (const Ratio& s : samples) half += s.weight / 2;
  for (const Ratio& s : samples) {
    half -= s.weight;
    if (half <= 0) return s.ln;
  }
  return samples.back().ln;
}

// ln of the factor. The prediction is the prior: no correction, as wide as its known range.
double location(const std::vector<Ratio>& samples, double range90) {
  const double best = least_error(samples);
  std::vector<double> off;
  for (const Ratio& s : samples) off.push_back(std::abs(s.ln - best));
  const double spread = kMedianDeviation * quantile(std::move(off), .5);
  const double prior = range90 / kDeviations90;
  if (prior <= 0) return 0;
  const double noise = spread * spread / static_cast<double>(samples.size());
  return best * prior * prior / (prior * prior + noise);
}

// Each with what is left of its ln where the others alone give the factor.
std::vector<Ratio> left_out(std::vector<Ratio> samples, double range90) {
  const std::vector<Ratio> all = samples;
  const size_t folds = std::min(kFolds, all.size());
  for (size_t fold = 0; fold < folds; ++fold) {
    std::vector<Ratio> others;
    for (size_t i = 0; i < all.size(); ++i) {
      if (i % folds != fold) others.push_back(all[i]);
    }
    const double factor = location(others, range90);
    for (size_t i = fold; i < all.size(); i += folds) {
      samples[i].ln -= factor;
      samples[i].weight *= std::exp(factor);
    }
  }
  return samples;
}

// By how much of the measured time predictions are wrong.
double error_of(const std::vector<Ratio>& samples) {
  double wrong = 0, measured = 0;
  for (const Ratio& s : samples) {
    wrong += s.weight * std::abs(std::exp(s.ln) - 1);
    measured += s.weight * std::exp(s.ln);
  }
  return wrong / measured;
}

FactorFit fit_one(MachineFactor factor, const std::vector<Ratio>& samples, double range90) {
  factor.kernels = static_cast<int64_t>(samples.size());
  if (samples.size() < kFewest)
    return {factor, fmt::format("{} kernels are too few", samples.size())};
  const std::vector<Ratio> rest = left_out(samples, range90);
  factor.factor = std::exp(location(samples, range90));
  factor.error_before = error_of(samples);
  factor.error_after = error_of(rest);
  if (samples.size() >= kEnoughForRange) {
    std::vector<double> off;
    for (const Ratio& s : rest) off.push_back(std::abs(s.ln));
    factor.range90 = quantile(std::move(off), .9);
  }
  const bool worse = factor.error_after >= factor.error_before;
  return {factor, worse ? "it makes kernels worse that it did not see" : ""};
}

}  // namespace

std::vector<FactorFit> fit_factors(std::span<const MeasuredRatio> ratios) {
  struct Group {
    std::vector<Ratio> samples;
    double range90 = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Group> groups;
  for (const MeasuredRatio& r : ratios) {
    Group& group = groups[{r.kernel_class, r.arithmetic, r.pass}];
    group.samples.push_back({r.ln, r.predicted});
    group.range90 = std::max(group.range90, r.range90);
  }
  std::vector<FactorFit> fits;
  for (const auto& [key, group] : groups) {
    MachineFactor factor;
    std::tie(factor.kernel_class, factor.arithmetic, factor.pass) = key;
    fits.push_back(fit_one(std::move(factor), group.samples, group.range90));
  }
  return fits;
}

}  // namespace plimsoll::calibrate
