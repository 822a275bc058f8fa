#include "estimator/kernels/fit_class.h"

#include <algorithm>

#include "estimator/kernels/kernel_prediction.h"
#include "estimator/kernels/time_model.h"
#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

GemmRates rates_of_products(const ModelParts& parts) {
  return {.flops = parts.rates.peak_of(parts.unit) * parts.clock,
          .sms = static_cast<double>(parts.rates.sms),
          .bandwidth = parts.rates.bandwidth,
          .clock = parts.rates.clock * parts.clock};
}

GemmRates light_rates(const ModelParts& parts) {
  GemmRates rates = rates_of_products(parts);
  rates.clock = parts.rates.light_clock() * parts.clock;
  return rates;
}

const RecurrentProblem<int64_t>& layers_of(const KernelFeatures& f) {
  return std::get<RecurrentProblem<int64_t>>(f.kernel->problem);
}

bool channels_last(const KernelFeatures& f) {
  return std::get<ConvProblem<int64_t>>(f.kernel->problem).channels_last;
}

bool every(const KernelFeatures&, const DeviceRates&) { return true; }

bool is_not_depthwise(const KernelFeatures& f, const DeviceRates&) {
  return !is_depthwise(std::get<ConvProblem<int64_t>>(f.kernel->problem));
}

bool is_depthwise_on(const KernelFeatures& f, const DeviceRates&) {
  return is_depthwise(std::get<ConvProblem<int64_t>>(f.kernel->problem));
}

bool is_of_groups(const KernelFeatures& f, const DeviceRates&) {
  return is_grouped(std::get<ConvProblem<int64_t>>(f.kernel->problem));
}

bool is_step_by_step(const KernelFeatures& f, const DeviceRates&) {
  return f.recurrent == RecurrentAlgorithm::kStandard;
}

// hwdb/calibrations/measured/recurrent.csv: gradients of LSTM and GRU with 1,024 hidden units in 32
// bits take 2.6 to 3.1 times as long for 32 sequences as for 64 on Pascal, 0.6 to 0.9 times on
// Maxwell, V100 and H100. On tensor cores nothing tells the two apart.
bool splits_few_sequences(const ModelParts& p) {
  constexpr int kPascal = 6;  // major compute capability
  return p.unit == Arithmetic::kF32 && p.rates.compute_capability / 10 != kPascal;
}

// Weight gradients are a product over all steps; weights that spill are no persistent kernel's.
bool is_persistent_on(const KernelFeatures& f, const DeviceRates& card) {
  return f.recurrent != RecurrentAlgorithm::kStandard && f.kernel->pass != Pass::kBackwardWeights &&
         keeps_weights(layers_of(f), element_bytes(*f.kernel), card.sms);
}

ClassCost convolution_seconds(const ConvModel& model, const KernelFeatures& f) {
  ClassCost found;
  const ConvCosts costs = model.costs(f.conv);
  for (const ConvCost& cost : costs.all()) {
    if (found.seconds == 0 || cost.seconds < found.seconds) found.seconds = cost.seconds;
    if (!f.algorithm || !same_method(*f.algorithm, cost.algorithm)) continue;
    if (found.named_seconds == 0 || cost.seconds < found.named_seconds)
      found.named_seconds = cost.seconds;
  }
  return found;
}

const FitClassRow kRows[] = {
    {.name = "gemm",
     .measured = "gemm",
     .launch = kFixed,
     .takes = every,
     .prepare = [](ClassModel& m,
                   const ModelParts& p) { m.gemm.emplace(p.terms, rates_of_products(p)); },
     .cost = [](const ClassModel& m, const KernelFeatures& f) -> ClassCost {
       return {.seconds = m.gemm->cost(f.product).seconds};
     }},
    {.name = "conv",
     .measured = "conv",
     .launch = kFixed,
     .takes = is_not_depthwise,
     .prepare =
         [](ClassModel& m, const ModelParts& p) {
           m.conv.emplace(p.terms, rates_of_products(p), p.library, p.products_only);
         },
     .cost = [](const ClassModel& m,
                const KernelFeatures& f) { return convolution_seconds(*m.conv, f); }},
    {.name = "depthwise",
     .measured = "conv",
     .launch = kDepthwiseFixed,
     .takes = is_depthwise_on,
     .prepare =
         [](ClassModel& m, const ModelParts& p) {
           m.depthwise.emplace(p.terms, light_rates(p), p.library);
         },
     .cost = [](const ClassModel& m, const KernelFeatures& f) -> ClassCost {
       const DepthwiseKernel kernel = depthwise_kernel(f.conv, f.kernel->dtype, channels_last(f));
       return {.seconds = m.depthwise->cost(f.conv, kernel).seconds};
     }},
    {.name = "grouped",
     .measured = "conv",
     .launch = kGroupedFixed,
     .takes = is_of_groups,
     .prepare =
         [](ClassModel& m, const ModelParts& p) {
           m.grouped.emplace(p.terms, p.rates, p.clock, p.library);
         },
     .cost = [](const ClassModel& m, const KernelFeatures& f) -> ClassCost {
       return {.seconds = m.grouped->cost(f.conv, f.unit, f.grouped, channels_last(f)).seconds};
     }},
    {.name = "recurrent",
     .measured = "recurrent",
     .launch = kFixed,
     .takes = is_step_by_step,
     .prepare =
         [](ClassModel& m, const ModelParts& p) {
           m.recurrent.emplace(p.terms, rates_of_products(p), splits_few_sequences(p));
         },
     .cost = [](const ClassModel& m, const KernelFeatures& f) -> ClassCost {
       return {
           .seconds =
               m.recurrent->cost(layers_of(f), f.kernel->pass, element_bytes(*f.kernel)).seconds};
     }},
    {.name = "persistent",
     .measured = "recurrent",
     .launch = kPersistentCall,
     .takes = is_persistent_on,
     .prepare = [](ClassModel& m,
                   const ModelParts& p) { m.persistent.emplace(p.terms, rates_of_products(p)); },
     .cost = [](const ClassModel& m, const KernelFeatures& f) -> ClassCost {
       return {.seconds =
                   m.persistent
                       ->cost(layers_of(f), f.recurrent, f.kernel->pass, element_bytes(*f.kernel))
                       .seconds};
     }},
    {.name = "rows",
     .measured = "rows",
     .launch = kRowsFixed,
     .takes = every,
     .prepare = [](ClassModel& m, const ModelParts& p) { m.rows.emplace(p.terms, p.rates); },
     .cost = [](const ClassModel& m, const KernelFeatures& f) -> ClassCost {
       return {.seconds = m.rows->cost(*f.kernel).seconds};
     }},
};

}  // namespace

GemmShape product_shape(const KernelAt& kernel) {
  const auto& p = std::get<GemmProblem<int64_t>>(kernel.problem);
  return {.m = static_cast<double>(p.m),
          .n = static_cast<double>(p.n),
          .k = static_cast<double>(p.k),
          .batch = static_cast<double>(p.batch),
          .a_t = p.a_t,
          .b_t = p.b_t,
          .accumulate = p.accumulate,
          .element_bytes = element_bytes(kernel),
          .in_memory = true};
}

ConvShape convolution_shape(const KernelAt& kernel, Arithmetic unit) {
  const double bytes = element_bytes(kernel);
  return conv_shape(std::get<ConvProblem<int64_t>>(kernel.problem), kernel.pass, bytes,
                    unit == Arithmetic::kF32 ? std::max(4.0, bytes) : bytes);
}

KernelFeatures features_of(const KernelAt& kernel, Arithmetic unit, const GroupedAnswers* answers) {
  KernelFeatures f{.kernel = &kernel, .unit = unit};
  if (std::holds_alternative<GemmProblem<int64_t>>(kernel.problem)) {
    f.product = product_shape(kernel);
  } else if (const auto* conv = std::get_if<ConvProblem<int64_t>>(&kernel.problem)) {
    f.conv = convolution_shape(kernel, unit);
    if (is_grouped(*conv)) f.grouped = grouped_kernel(*conv, f.conv, unit, answers);
  }
  return f;
}

std::span<const FitClassRow> fit_classes() { return kRows; }

const FitClassRow& fit_class(std::string_view name) {
  return *std::ranges::find(kRows, name, &FitClassRow::name);
}

}  // namespace plimsoll
