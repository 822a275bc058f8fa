#include <algorithm>
#include <cmath>
#include <map>

#include "estimator/time/select_fit.h"
#include "estimator/time/time_model.h"
#include "hwdb/calibration_terms.h"

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

int device_index(const Correction& correction, const std::string& device) {
  const auto found = std::ranges::find(correction.devices, device);
  return found == correction.devices.end() ? -1
                                           : static_cast<int>(found - correction.devices.begin());
}

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

// Points that cannot be read (a fault of the build, which a test would find) count as far away:
// the formulas stand alone, with the wide range.
Fit with_correction(Fit fit) {
  auto correction = with_points(fit.correction);
  fit.correction = correction ? std::move(*correction) : Correction{};
  return fit;
}

}  // namespace

TimeContext::TimeContext(DeviceRates rates, const std::vector<Calibration>& calibrations,
                         TimeOptions options)
    : rates_(std::move(rates)), options_(options) {
  if (options_.library.cublas == 0) options_.library.cublas = cublas_of(options_.library.cudnn);
  std::map<const Fit*, std::shared_ptr<const Fit>> shared;
  const auto share = [&](const Fit& fit, bool own) {
    std::shared_ptr<const Fit>& copy = shared[&fit];
    if (!copy) copy = std::make_shared<const Fit>(own ? with_correction(fit) : fit);
    return copy;
  };
  const auto prepare = [&](std::string_view kernel_class, Arithmetic arithmetic, int library) {
    auto model = std::make_unique<Model>();
    const SelectedFit selected =
        select_fit(calibrations, kernel_class, arithmetic, rates_, library);
    const auto known = std::ranges::find(bases_, selected.basis);
    model->basis = static_cast<int>(known - bases_.begin());
    if (known == bases_.end()) bases_.push_back(selected.basis);
    const double peak = rates_.peak_of(arithmetic);
    model->highest_flops = peak * rates_.maximum_clock;
    model->flops = peak;
    model->near90 = model->far90 = kUncalibrated90;
    if (selected.fit == nullptr) return model;
    const Fit& fit = *selected.fit;
    model->fit = share(fit, selected.own);
    model->own = selected.own;
    model->flops = std::min(peak * clock_of(fit, rates_.id), model->highest_flops);
    model->device = device_index(model->fit->correction, rates_.id);
    model->near90 = fit.near90 + selected.widen;
    model->far90 = fit.far90 + selected.widen;
    const GemmRates gemm{model->flops, static_cast<double>(rates_.sms), rates_.bandwidth};
    const std::vector<double>& terms = model->fit->terms;
    const int cudnn = options_.library.cudnn == 0 ? fit.library : options_.library.cudnn;
    if (kernel_class == "gemm") model->gemm.emplace(terms, gemm);
    if (kernel_class == "conv") model->conv.emplace(terms, gemm, cudnn);
    if (kernel_class == "recurrent") model->recurrent.emplace(terms, gemm);
    if (kernel_class == "rows") model->rows.emplace(terms, rates_.bandwidth, rates_.sms);
    model->fixed = kernel_class == "rows" ? terms[kRowsFixed] * 1e-6 : terms[kFixed] * 1e-6;
    return model;
  };
  for (int i = 0; i < kArithmeticCount; ++i) {
    const auto arithmetic = static_cast<Arithmetic>(i);
    gemm_[i] = prepare("gemm", arithmetic, options_.library.cublas);
    conv_[i] = prepare("conv", arithmetic, options_.library.cudnn);
    recurrent_[i] = prepare("recurrent", arithmetic, options_.library.cudnn);
  }
  rows_ = prepare("rows", Arithmetic::kF32, options_.library.cudnn);
}

TimeContext::~TimeContext() = default;
TimeContext::TimeContext(TimeContext&&) noexcept = default;
TimeContext& TimeContext::operator=(TimeContext&&) noexcept = default;

}  // namespace plimsoll
