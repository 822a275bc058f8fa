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
  const auto at = values.begin() + std::lround(share * static_cast<double>(values.size() - 1));
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

// Student's t that 95 of 100 stay below, with so many degrees of freedom (Abramowitz and Stegun,
// 26.7.5, first term).
double student95(double freedom) {
  constexpr double kNormal = 1.645;
  return kNormal + (kNormal * kNormal * kNormal + kNormal) / (4 * freedom);
}

// Whether the factor helps kernels that it did not see by more than chance would: the share of
// their time that is gained, against how far kernels scatter about it (the standard error of a
// ratio: Cochran, "Sampling Techniques", 1977, section 2.11).
bool helps(const std::vector<Ratio>& before, const std::vector<Ratio>& after) {
  const auto measured = [](const Ratio& s) { return s.weight * std::exp(s.ln); };
  const auto gain = [&](size_t i) {
    const auto wrong = [](const Ratio& s) { return s.weight * std::abs(std::exp(s.ln) - 1); };
    return wrong(before[i]) - wrong(after[i]);
  };
  double gained = 0, whole = 0, squares = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    gained += gain(i);
    whole += measured(before[i]);
  }
  for (size_t i = 0; i < before.size(); ++i) {
    const double off = gain(i) - gained / whole * measured(before[i]);
    squares += off * off;
  }
  const auto n = static_cast<double>(before.size());
  return gained > student95(n - 1) * std::sqrt(squares * n / (n - 1));
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
  if (factor.error_after >= factor.error_before)
    return {factor, "it increases the error of kernels that were left out of the fit"};
  return {factor, helps(samples, rest)
                      ? ""
                      : "its gain on kernels that were left out of the fit may be chance"};
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
