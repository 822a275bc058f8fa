#include "calibrate/formula.h"

#include <algorithm>
#include <optional>

#include "estimator/time/conv_choice.h"
#include "estimator/time/layout_conversion.h"
#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

struct CardModels {
  std::optional<GemmModel> gemm;
  std::optional<ConvModel> conv;
  std::optional<DepthwiseModel> depthwise;
  std::optional<GroupedModel> grouped;
  std::optional<RecurrentModel> recurrent;
  std::optional<PersistentModel> persistent;
  std::optional<MemoryBoundModel> rows;
};

RecurrentAlgorithm algorithm_of(const MeasuredKernel& k) {
  return recurrent_algorithm_from_name(k.algorithm).value_or(RecurrentAlgorithm::kStandard);
}

GemmShape gemm_shape(const MeasuredKernel& k) {
  const auto& p = std::get<GemmProblem<int64_t>>(k.kernel.problem);
  return {.m = double(p.m),
          .n = double(p.n),
          .k = double(p.k),
          .batch = double(p.batch),
          .a_t = p.a_t,
          .b_t = p.b_t,
          .accumulate = p.accumulate,
          .element_bytes = element_bytes(k),
          .in_memory = true};
}

FormulaValue conv_value(const ConvModel& model, const ConvShape& shape,
                        const std::string& algorithm) {
  const auto named = conv_algorithm_from_name(algorithm);
  const ConvCosts costs = model.costs(shape);
  FormulaValue value;
  for (const ConvCost& cost : costs.all()) {
    if (value.seconds == 0 || cost.seconds < value.seconds) value.seconds = cost.seconds;
    if (!named || !same_method(*named, cost.algorithm)) continue;
    if (value.named_seconds == 0 || cost.seconds < value.named_seconds) {
      value.named_seconds = cost.seconds;
    }
  }
  return value;
}

// The kernel that PyTorch took.
GroupedKernel grouped_as(const MeasuredKernel& k, const ConvShape& shape,
                         const GroupedAnswers& answers) {
  return grouped_kernel(std::get<ConvProblem<int64_t>>(k.kernel.problem), shape, k.arithmetic,
                        &answers);
}

}  // namespace

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
    if (plan.kernel_class == "gemm") {
      gemms_.push_back(gemm_shape(*k));
    } else if (plan.kernel_class == "conv") {
      convs_.push_back(conv_shape(std::get<ConvProblem<int64_t>>(k->kernel.problem), k->kernel.pass,
                                  element_bytes(*k), element_bytes(*k)));
      const Layout layout = k->channels_first ? Layout::kChannelsFirst : Layout::kNative;
      layout_conversions_.push_back(
          layout_conversion_seconds(convs_.back(), layout, on_tensor_cores(k->arithmetic),
                                    k->library, cards_[static_cast<size_t>(card_of_.back())]));
    } else if (plan.kernel_class == "depthwise" || plan.kernel_class == "grouped") {
      convs_.push_back(conv_shape(std::get<ConvProblem<int64_t>>(k->kernel.problem), k->kernel.pass,
                                  element_bytes(*k), element_bytes(*k)));
      if (plan.kernel_class == "grouped")
        grouped_.push_back(grouped_as(*k, convs_.back(), answers));
    }
  }
}

std::vector<FormulaValue> Formula::values(const Trial& trial, const std::vector<bool>& skip) const {
  const std::span<const double> terms(trial.data(), terms_);
  std::vector<CardModels> models(cards_.size());
  for (size_t c = 0; c < cards_.size(); ++c) {
    const double peak = kernels_.empty() ? 0 : cards_[c].peak_of(kernels_.front()->arithmetic);
    const double clock = std::min(1.0 * trial[terms_ + c], cards_[c].maximum_clock);
    const GemmRates rates{clock * peak, double(cards_[c].sms), cards_[c].bandwidth,
                          cards_[c].clock * trial[terms_ + c]};
    if (plan_.kernel_class == "gemm") models[c].gemm.emplace(terms, rates);
    if (plan_.kernel_class == "conv") {
      const auto unit = arithmetic_from_name(plan_.arithmetic);
      models[c].conv.emplace(
          terms, rates, plan_.library,
          unit && on_tensor_cores(*unit) && plan_.library >= kProductsOnTensorCores);
    }
    if (plan_.kernel_class == "depthwise") models[c].depthwise.emplace(terms, rates);
    if (plan_.kernel_class == "grouped") models[c].grouped.emplace(terms, cards_[c], clock);
    if (plan_.kernel_class == "recurrent") models[c].recurrent.emplace(terms, rates);
    if (plan_.kernel_class == "persistent") models[c].persistent.emplace(terms, rates);
    if (plan_.kernel_class == "rows") models[c].rows.emplace(terms, cards_[c]);
  }
  std::vector<FormulaValue> values(kernels_.size());
  for (size_t i = 0; i < kernels_.size(); ++i) {
    if (skip[i]) continue;
    const CardModels& m = models[static_cast<size_t>(card_of_[i])];
    const MeasuredKernel& k = *kernels_[i];
    if (m.gemm) values[i].seconds = m.gemm->cost(gemms_[i]).seconds;
    if (m.conv) {
      values[i] = conv_value(*m.conv, convs_[i], k.algorithm);
      values[i].seconds += layout_conversions_[i];
    }
    if (m.depthwise) {
      const auto& p = std::get<ConvProblem<int64_t>>(k.kernel.problem);
      const auto kernel = depthwise_kernel(convs_[i], k.kernel.dtype, p.channels_last);
      values[i].seconds = m.depthwise->cost(convs_[i], kernel).seconds;
    }
    if (m.grouped) {
      const auto& p = std::get<ConvProblem<int64_t>>(k.kernel.problem);
      values[i].seconds =
          m.grouped->cost(convs_[i], k.arithmetic, grouped_[i], p.channels_last).seconds;
    }
    if (m.recurrent) {
      values[i].seconds = m.recurrent
                              ->cost(std::get<RecurrentProblem<int64_t>>(k.kernel.problem),
                                     k.kernel.pass, element_bytes(k))
                              .seconds;
    }
    if (m.persistent) {
      values[i].seconds = m.persistent
                              ->cost(std::get<RecurrentProblem<int64_t>>(k.kernel.problem),
                                     algorithm_of(k), k.kernel.pass, element_bytes(k))
                              .seconds;
    }
    if (m.rows) values[i].seconds = m.rows->cost(k.kernel).seconds;
  }
  return values;
}

double Formula::roofline(size_t i) const {
  const MeasuredKernel& k = *kernels_[i];
  const DeviceRates& card = cards_[static_cast<size_t>(card_of_[i])];
  return std::max(double(k.kernel.flop) / card.peak_of(k.arithmetic),
                  double(k.kernel.read + k.kernel.written) / card.bandwidth);
}

}  // namespace plimsoll
