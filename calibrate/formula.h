// A plan's measured kernels under trial terms: what a search evaluates thousands of times. The
// models are those that kernel_time() prices with, made of the trial once per card.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit_plan.h"
#include "calibrate/measured.h"
#include "estimator/kernels/fit_class.h"

namespace plimsoll {

// The terms of the class, then one clock per card.
using Trial = std::vector<double>;

KernelFeatures features_of(const MeasuredKernel& kernel, const GroupedAnswers* answers);

class Formula {
 public:
  Formula(const FitPlan& plan, std::vector<DeviceRates> cards,
          std::vector<const MeasuredKernel*> kernels);

  size_t size() const { return kernels_.size(); }
  const MeasuredKernel& kernel(size_t i) const { return *kernels_[i]; }
  int card(size_t i) const { return card_of_[i]; }

  // One value per kernel whose `skip` entry is false.
  std::vector<ClassCost> values(const Trial& trial, const std::vector<bool>& skip) const;
  // max(flop / peak, bytes / bandwidth) of the direct problem.
  double roofline(size_t i) const;

 private:
  const FitPlan& plan_;
  size_t terms_;
  std::vector<DeviceRates> cards_;
  std::vector<const MeasuredKernel*> kernels_;
  std::vector<int> card_of_;
  std::vector<KernelFeatures> features_;
  std::vector<double> layout_conversions_;  // seconds beside each of them
};

}  // namespace plimsoll
