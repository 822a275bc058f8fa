#include "calibrate/formula.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "calibrate/fit.h"
#include "estimator/library/kernel_time.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

std::vector<MeasuredKernel> transcribed(std::string_view file) {
  const std::string name = std::string(file) + ".csv";
  std::ifstream in(PLIMSOLL_SOURCE_DIR "/hwdb/calibrations/measured/" + name);
  std::stringstream text;
  text << in.rdbuf();
  const auto kernels = read_measured(text.str(), name, file);
  REQUIRE(kernels);
  return *kernels;
}

const Fit* shipped_fit(const FitPlan& plan) {
  static const auto all = shipped_calibrations();
  REQUIRE(all);
  for (const Calibration& calibration : *all) {
    for (const Fit& fit : calibration.fits) {
      if (fit.kernel_class == plan.kernel_class && fit.arithmetic == plan.arithmetic &&
          fit.library == plan.library && fit.compute_capability == plan.capabilities.front() &&
          fit.odd_shapes == plan.odd_shapes)
        return &fit;
    }
  }
  return nullptr;
}

double alone(const MeasuredKernel& k) {
  TimeOptions options;
  options.library = {.cudnn = k.library, .cublas = k.library};
  options.alone = true;
  options.recurrent.forced = recurrent_algorithm_from_name(k.algorithm);
  if (k.channels_first) options.layout = Layout::kChannelsFirst;
  const auto* conv = std::get_if<ConvProblem<int64_t>>(&k.kernel.problem);
  if (conv != nullptr && conv->channels_last) options.layout = Layout::kChannelsLast;
  // How cuDNN 9 is asked for the grouped kernels of its choice.
  if (k.library >= 900) options.policy = AlgorithmPolicy::kHeuristic;
  const TimeContext context(rates_of(*test::hwdb().device(k.device)), Calibrations::shipped(),
                            options);
  return kernel_time(k.kernel, context).seconds;
}

// Fits one plan's terms would be judged by a time that nobody is told, were there two.
TEST_CASE("a kernel costs a fit what kernel_time() says of it, in every class") {
  std::set<std::string_view> seen;
  for (const std::string_view name :
       {"gemm-v100", "conv-sm61", "conv-h100-tf32", "depthwise-h100", "grouped-h100",
        "recurrent-p100", "persistent-h100", "rows-p100"}) {
    CAPTURE(name);
    const FitPlan& plan = *std::ranges::find(fit_plans(), name, &FitPlan::name);
    const Fit* fit = shipped_fit(plan);
    REQUIRE(fit != nullptr);
    const auto all = transcribed(fit_class(plan.kernel_class).measured);
    std::map<std::string, DeviceRates> rates;
    std::vector<DeviceRates> cards;
    Trial trial = fit->terms;
    for (const FitCard& card : plan.cards) {
      cards.push_back(rates_of(*test::hwdb().device(card.device)));
      rates[std::string(card.device)] = cards.back();
      trial.push_back(std::ranges::find(fit->clocks, card.device, [](const auto& c) {
                        return c.first;
                      })->second);
    }
    auto kernels = kernels_of(plan, all, rates);
    REQUIRE(kernels.size() > 20);
    std::erase_if(kernels, [&, i = 0](const auto*) mutable { return i++ % 23 != 0; });
    const Formula formula(plan, cards, kernels);
    const auto values = formula.values(trial, std::vector<bool>(kernels.size(), false));
    for (size_t i = 0; i < kernels.size(); ++i) {
      CAPTURE(i);
      CHECK(values[i].seconds == doctest::Approx(alone(*kernels[i])).epsilon(1e-9));
    }
    seen.insert(plan.kernel_class);
  }
  CHECK(seen.size() == fit_classes().size());
}

}  // namespace
}  // namespace plimsoll
