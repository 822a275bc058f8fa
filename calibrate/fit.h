// Fit: from measured kernels to a calibration's terms and clocks, with the error one must expect on
// shapes that were not measured (five-fold by shape, a problem's measurements together; where there
// are few shapes, one by one).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "calibrate/fit_plan.h"
#include "calibrate/fit_report.h"
#include "calibrate/measured.h"
#include "estimator/library/kernel_time.h"
#include "hwdb/calibration.h"

namespace plimsoll {

// Those of `measured` that a plan is fitted to; `rates` has every card of the plan.
std::vector<const MeasuredKernel*> kernels_of(const FitPlan& plan,
                                              const std::vector<MeasuredKernel>& measured,
                                              const std::map<std::string, DeviceRates>& rates);

// `fits`: those of earlier plans, by name. E510 where a card's rates, a base or any measurement of
// the plan is missing.
// Cost: seconds to a minute.
Result<FitReport> fit_kernels(const FitPlan& plan, const std::vector<MeasuredKernel>& measured,
                              const std::map<std::string, DeviceRates>& rates,
                              const std::map<std::string_view, Fit>& fits);

}  // namespace plimsoll
