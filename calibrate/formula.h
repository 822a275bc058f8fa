// A plan's measured kernels under trial terms: what a search evaluates thousands of times. The
// models are those kernel_time() prices with, made once per card instead of once per context.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit_plan.h"
#include "calibrate/measured.h"
#include "estimator/time/grouped.h"
#include "estimator/time/kernel_time.h"

namespace plimsoll {

// The terms of the class, then one clock per card.
using Trial = std::vector<double>;

struct FormulaValue {
  double seconds = 0;
  double named_seconds = 0;  // of the algorithm the source names; 0 where it names none
};

class Formula {
 public:
  Formula(const FitPlan& plan, std::vector<DeviceRates> cards,
          std::vector<const MeasuredKernel*> kernels);

  size_t size() const { return kernels_.size(); }
  const MeasuredKernel& kernel(size_t i) const { return *kernels_[i]; }
  int card(size_t i) const { return card_of_[i]; }

  // One value per kernel whose `skip` entry is false.
  std::vector<FormulaValue> values(const Trial& trial, const std::vector<bool>& skip) const;
  // max(flop / peak, bytes / bandwidth) of the direct problem.
  double roofline(size_t i) const;

 private:
  const FitPlan& plan_;
  size_t terms_;
  std::vector<DeviceRates> cards_;
  std::vector<const MeasuredKernel*> kernels_;
  std::vector<int> card_of_;
  std::vector<ConvShape> convs_;
  std::vector<double> layout_conversions_;  // seconds beside each of `convs_`
  std::vector<GroupedKernel> grouped_;
  std::vector<GemmShape> gemms_;
};

}  // namespace plimsoll
