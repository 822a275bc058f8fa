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
  std::vector<double> all, logarithms;
  for (const LeftOut& k : left_out) {
    const MeasuredKernel& measured = formula.kernel(k.index);
    const std::string group = group_of(measured.kernel, report.fit.kernel_class);
    PassScore& pass = report.passes[group];
    const double error = relative(k.predicted, measured.seconds);
    ++pass.kernels;
    pass.roofline += relative(formula.roofline(k.index), measured.seconds);
    pass.error += error;
    errors[group].push_back(error);
    all.push_back(error);
    logarithms.push_back(std::fabs(std::log(k.predicted / measured.seconds)));
    report.fit.error += error / static_cast<double>(left_out.size());
  }
  for (auto& [pass, values] : report.passes) {
    const auto n = static_cast<double>(values.kernels);
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
                                 .roofline = values.roofline});
  }
  std::ranges::sort(logarithms);
  // More than nine of ten, as split conformal prediction takes for one to come.
  report.fit.range90 = logarithms[9 * logarithms.size() / 10];
  const auto inside =
      std::ranges::count_if(logarithms, [&](double l) { return l <= report.fit.range90; });
  report.coverage = static_cast<double>(inside) / static_cast<double>(logarithms.size());
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

}  // namespace

void score(FitReport& report, const Formula& formula, const std::vector<LeftOut>& left_out) {
  set_errors(report, formula, left_out);
  set_spread(report.fit, formula, left_out);
}

}  // namespace plimsoll
