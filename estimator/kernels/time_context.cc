#include "estimator/kernels/time_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "estimator/kernels/carry_over.h"
#include "estimator/kernels/conv_algorithms.h"
#include "estimator/kernels/fit_class.h"
#include "estimator/kernels/select_fit.h"
#include "estimator/kernels/time_model.h"

namespace plimsoll {
namespace {

// Without any measurement a kernel may be this far from the roofline (ln): most are slower.
constexpr double kUncalibrated90 = .9;

double clock_of(const Fit& fit, const std::string& device) {
  for (const auto& [id, clock] : fit.clocks) {
    if (id == device) return clock;
  }
  return 1;
}

// Of which cuDNN's own answers are known.
constexpr int kAskedSince = 900;

// The cuBLAS of the CUDA release a cuDNN came with: cuDNN's release notes. 0 where unknown.
int cublas_of(int cudnn) {
  struct Row {
    int cudnn, cublas;
  };
  constexpr Row kRows[] = {{900, 1201}, {800, 1100}, {703, 1001}, {700, 900},
                           {600, 801},  {500, 800},  {1, 705}};
  for (const Row& row : kRows) {
    if (cudnn >= row.cudnn) return row.cublas;
  }
  return 0;
}

}  // namespace

// A model and when it was prepared.
struct TimeContext::Slot {
  std::once_flag prepared;
  ClassModel model;
  std::string basis;
};

struct TimeContext::Slots {
  std::array<Slot, kClassCount * kArithmeticCount> all;
};

TimeContext::TimeContext(DeviceRates rates, Calibrations calibrations, TimeOptions options,
                         std::shared_ptr<const ConvOffers> offers)
    : rates_(std::move(rates)),
      options_(std::move(options)),
      offers_(std::move(offers)),
      calibrations_(std::move(calibrations)),
      slots_(std::make_shared<Slots>()) {
  if (options_.library.cublas == 0) options_.library.cublas = cublas_of(options_.library.cudnn);
}

// Nothing to convert where the fit is this architecture's own, or of another unit.
SmRate TimeContext::sm_rate(const Fit& fit, Arithmetic arithmetic) const {
  // Kernels of all arithmetics tell their shares of 16 bits.
  const bool any = arithmetic_from_name(fit.arithmetic) == std::nullopt;
  if (any || arithmetic == Arithmetic::kBf16Tensor) arithmetic = Arithmetic::kF16Tensor;
  const Calibration* measured = calibrations_.of(fit.compute_capability);
  if (!measured || fit.compute_capability == rates_.compute_capability) return {};
  const auto rate = measured->flop_per_sm_clock.find(name(arithmetic));
  const double peak = rates_.peak[static_cast<size_t>(arithmetic)];
  if (rate == measured->flop_per_sm_clock.end() || rates_.clock <= 0) return {};
  return {.measured = rate->second,
          .own = peak / (rates_.sms * rates_.clock),
          .compute_capability = rates_.compute_capability,
          .tensor_cores = on_tensor_cores(arithmetic)};
}

void TimeContext::prepare(Slot& slot, Class of, Arithmetic arithmetic) const {
  constexpr std::array<std::string_view, kClassCount> kNames = {
      "gemm", "conv", "conv", "depthwise", "grouped", "recurrent", "persistent", "rows"};
  // Persistent kernels multiply 32 bits on plain cores, whatever the products beside them may do.
  const bool plain = of == Class::kPersistent && arithmetic == Arithmetic::kTf32Tensor;
  const Arithmetic unit = plain ? Arithmetic::kF32 : arithmetic;
  const int library = of == Class::kGemm ? options_.library.cublas : options_.library.cudnn;
  SelectedFit selected = select_fit(calibrations_, kNames[static_cast<size_t>(of)], unit, rates_,
                                    library, of == Class::kOddConv);
  slot.basis = std::move(selected.basis);
  ClassModel& model = slot.model;
  model.kernel_class = kNames[static_cast<size_t>(of)];
  model.arithmetic = unit;
  const double peak = rates_.peak_of(arithmetic);
  model.highest_flops = peak * rates_.maximum_clock;
  model.flops = peak;
  model.range90 = kUncalibrated90;
  if (selected.fit == nullptr) return;
  model.fit = *selected.fit;
  Fit& fit = *model.fit;
  model.own = selected.own;
  model.evidence = selected.evidence;
  const double clock = std::min(clock_of(fit, rates_.id), rates_.maximum_clock);
  model.flops = rates_.peak_of(unit) * clock;
  model.range90 = fit.range90 + selected.widen;
  const SmRate rate = sm_rate(fit, unit);
  fit.terms = carried_over(std::move(fit.terms), fit.kernel_class, rate);
  const int cudnn = options_.library.cudnn == 0 ? fit.library : options_.library.cudnn;
  const bool products_only =
      on_tensor_cores(unit) && (rate.is_slower() || fit.library >= kProductsOnTensorCores);
  const FitClassRow& row = fit_class(model.kernel_class);
  row.prepare(model, {.terms = fit.terms,
                      .rates = rates_,
                      .clock = clock,
                      .unit = unit,
                      .library = cudnn,
                      .products_only = products_only});
  if (of == Class::kGrouped && cudnn >= kAskedSince)
    model.answers.emplace(rates_.compute_capability);
  model.fixed = fit.terms[static_cast<size_t>(row.launch)] * 1e-6;
}

void TimeContext::add_machine(Slot& slot) const {
  ClassModel& model = slot.model;
  for (const MachineFactor& factor : options_.machine) {
    if (factor.kernel_class != model.kernel_class || factor.arithmetic != name(model.arithmetic))
      continue;
    model.machine.push_back(factor);
    model.evidence = Evidence::kCard;
    slot.basis += fmt::format(
        "; {}{}times {:.2f} from {} kernels measured on this machine, cross-validated error {:.0f} "
        "-> {:.0f} %",
        factor.pass, factor.pass.empty() ? "" : " ", factor.factor, factor.kernels,
        100 * factor.error_before, 100 * factor.error_after);
  }
}

const ClassModel& TimeContext::model(Class of, Arithmetic arithmetic) const {
  const size_t index = kClassCount * static_cast<size_t>(arithmetic) + static_cast<size_t>(of);
  Slot& slot = slots_->all[index];
  std::call_once(slot.prepared, [&] {
    slot.model.basis = static_cast<int>(index);
    prepare(slot, of, arithmetic);
    add_machine(slot);
  });
  return slot.model;
}

const std::string& TimeContext::basis(int basis) const {
  return slots_->all[static_cast<size_t>(basis)].basis;
}

TimeContext TimeContext::alone() const {
  TimeOptions options = options_;
  options.alone = true;
  return with(std::move(options), offers_);
}

TimeContext TimeContext::with(TimeOptions options, std::shared_ptr<const ConvOffers> offers) const {
  TimeContext other(rates_, calibrations_, std::move(options), std::move(offers));
  other.slots_ = slots_;
  return other;
}

TimeContext::~TimeContext() = default;
TimeContext::TimeContext(TimeContext&&) noexcept = default;
TimeContext& TimeContext::operator=(TimeContext&&) noexcept = default;

}  // namespace plimsoll
