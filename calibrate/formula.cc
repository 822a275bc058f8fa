#include "calibrate/formula.h"

#include <algorithm>

#include "estimator/kernels/layout_conversion.h"
#include "estimator/kernels/roofline.h"
#include "estimator/kernels/time_model.h"
#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

// What kernel_time() adds to a convolution.
double conversion_of(const MeasuredKernel& k, const ConvShape& shape, const DeviceRates& card) {
  const Layout layout = k.channels_first ? Layout::kChannelsFirst : Layout::kNative;
  return layout_conversion_seconds(shape, layout, on_tensor_cores(k.arithmetic), k.library, card);
}

}  // namespace

KernelFeatures features_of(const MeasuredKernel& k, const GroupedAnswers* answers) {
  KernelFeatures f = features_of(k.kernel, k.arithmetic, answers);
  f.algorithm = conv_algorithm_from_name(k.algorithm);
  f.recurrent = recurrent_algorithm_from_name(k.algorithm).value_or(RecurrentAlgorithm::kStandard);
  return f;
}

Formula::Formula(const FitPlan& plan, std::vector<DeviceRates> cards,
                 std::vector<const MeasuredKernel*> kernels)
    : plan_(plan),
      terms_(coefficient_rows(plan.kernel_class).size()),
      cards_(std::move(cards)),
      kernels_(std::move(kernels)) {
  const GroupedAnswers answers(plan.capabilities.front());
  for (const MeasuredKernel* k : kernels_) {
    const auto card = std::ranges::find(cards_, k->device, &DeviceRates::id);
    card_of_.push_back(static_cast<int>(card - cards_.begin()));
    features_.push_back(features_of(*k, &answers));
    layout_conversions_.push_back(
        plan.kernel_class == "conv" ? conversion_of(*k, features_.back().conv, *card) : 0);
  }
}

std::vector<ClassCost> Formula::values(const Trial& trial, const std::vector<bool>& skip) const {
  const FitClassRow& row = fit_class(plan_.kernel_class);
  const Arithmetic unit =
      arithmetic_from_name(plan_.arithmetic)
          .value_or(kernels_.empty() ? Arithmetic::kF32 : kernels_.front()->arithmetic);
  std::vector<ClassModel> models(cards_.size());
  for (size_t c = 0; c < cards_.size(); ++c) {
    row.prepare(models[c], {.terms = std::span(trial).first(terms_),
                            .rates = cards_[c],
                            .clock = std::min(trial[terms_ + c], cards_[c].maximum_clock),
                            .unit = unit,
                            .library = plan_.library,
                            .products_only =
                                on_tensor_cores(unit) && plan_.library >= kProductsOnTensorCores});
  }
  std::vector<ClassCost> values(kernels_.size());
  for (size_t i = 0; i < kernels_.size(); ++i) {
    if (skip[i]) continue;
    values[i] = row.cost(models[static_cast<size_t>(card_of_[i])], features_[i]);
    values[i].seconds += layout_conversions_[i];
  }
  return values;
}

double Formula::roofline(size_t i) const {
  return roofline_seconds(kernels_[i]->kernel, cards_[static_cast<size_t>(card_of_[i])]);
}

}  // namespace plimsoll
