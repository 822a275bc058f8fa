// Score: how far off a fit is on kernels that it has not seen.
#pragma once

#include <vector>

#include "calibrate/fit_report.h"
#include "calibrate/formula.h"

namespace plimsoll {

// One kernel as predicted by what was learnt without it.
struct LeftOut {
  size_t index = 0;
  double predicted = 0;  // seconds
};

// Fills in what a report says of errors, by pass and in all; the fit's range, which covers 90 of
// 100 left-out kernels; spread and correlation of the logarithms. `left_out`: at least one.
void score(FitReport& report, const Formula& formula, const std::vector<LeftOut>& left_out);

}  // namespace plimsoll
