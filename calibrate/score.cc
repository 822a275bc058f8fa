#include "calibrate/score.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];
}

double relative(double predicted, double measured) { return std::fabs(predicted / measured - 1); }

// What kernels of a class are told apart by: their pass; memory-bound ones by their operator too.
std::string group_of(const KernelAt& kernel, const std::string& kernel_class) {
  const std::string pass(name(kernel.pass));
  return kernel_class == "rows" ? kernel.op + " " + pass : pass;
}

void set_errors(FitReport& report, const Formula& formula, const std::vector<LeftOut>& left_out) {
  std::map<std::string, std::vector<double>> errors;
  std::vector<double> all, formula_errors;
  for (const LeftOut& k : left_out) {
    const MeasuredKernel& measured = formula.kernel(k.index);
    const std::string group = group_of(measured.kernel, report.fit.kernel_class);
    PassScore& pass = report.passes[group];
    const double error = relative(k.predicted, measured.seconds);
    ++pass.kernels;
    pass.formula += relative(k.formula, measured.seconds);
    pass.roofline += relative(formula.roofline(k.index), measured.seconds);
    pass.error += error;
    errors[group].push_back(error);
    all.push_back(error);
    formula_errors.push_back(std::fabs(std::log(k.formula / measured.seconds)));
    report.fit.error += error / static_cast<double>(left_out.size());
  }
  for (auto& [pass, values] : report.passes) {
    const auto n = static_cast<double>(values.kernels);
    values.formula /= n;
    values.error /= n;
    values.roofline /= n;
    values.median = quantile(errors[pass], .5);
  }
  report.fit.median = quantile(all, .5);
  for (const auto& [pass, values] : report.passes) {
    report.fit.passes.push_back({.pass = pass,
                                 .kernels = values.kernels,
                                 .error = values.error,
                                 .median = values.median,
                                 .formula = values.formula,
                                 .roofline = values.roofline});
  }
  report.fit.far90 = quantile(formula_errors, .9);
}

// Spread and correlation of ln predicted against ln measured.
void set_spread(Fit& fit, const Formula& formula, const std::vector<LeftOut>& left_out) {
  const auto n = static_cast<double>(left_out.size());
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (const LeftOut& k : left_out) {
    const double p = std::log(k.predicted), m = std::log(formula.kernel(k.index).seconds);
    x += p / n;
    y += m / n;
    xx += p * p / n;
    yy += m * m / n;
    xy += p * m / n;
  }
  const double of_p = xx - x * x, of_m = yy - y * y, both = xy - x * y;
  fit.spread = std::sqrt(std::max(0.0, of_p + of_m - 2 * both));
  fit.correlation = of_p > 0 && of_m > 0 ? both / std::sqrt(of_p * of_m) : 0;
}

void set_domain(Fit& fit, const Formula& formula) {
  for (size_t i = 0; i < formula.size(); ++i) {
    const auto features = formula.features(i);
    if (i == 0) {
      fit.domain_low.assign(features.begin(), features.end());
      fit.domain_high = fit.domain_low;
    }
    for (size_t f = 0; f < features.size(); ++f) {
      fit.domain_low[f] = std::min(fit.domain_low[f], features[f]);
      fit.domain_high[f] = std::max(fit.domain_high[f], features[f]);
    }
  }
}

double covered(const Formula& formula, const std::vector<LeftOut>& left_out, double near,
               double far) {
  int64_t inside = 0;
  for (const LeftOut& k : left_out) {
    const double error = std::fabs(std::log(k.predicted / formula.kernel(k.index).seconds));
    inside += error <= far + (near - far) * k.support ? 1 : 0;
  }
  return static_cast<double>(inside) / static_cast<double>(left_out.size());
}

// The half width at a measured shape with which 90 % of the left-out kernels are covered.
void set_range(FitReport& report, const Formula& formula, const std::vector<LeftOut>& left_out) {
  double low = .01, high = report.fit.far90;
  for (int step = 0; step < 40; ++step) {
    const double middle = .5 * (low + high);
    (covered(formula, left_out, middle, report.fit.far90) < .9 ? low : high) = middle;
  }
  report.fit.near90 = high;
  report.coverage = covered(formula, left_out, high, report.fit.far90);
}

}  // namespace

void score(FitReport& report, const Formula& formula, const std::vector<LeftOut>& left_out) {
  set_errors(report, formula, left_out);
  set_range(report, formula, left_out);
  set_spread(report.fit, formula, left_out);
  set_domain(report.fit, formula);
}

}  // namespace plimsoll
