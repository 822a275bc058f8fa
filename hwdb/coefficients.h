// Which of a fit's coefficients have an effect. The others stand in no calibration file.
#pragma once

#include <cstdint>

#include "hwdb/calibration_terms.h"
#include "hwdb/fit.h"

namespace plimsoll {

// Whether the term may be 0, which is to have no effect of its own.
bool may_be_idle(const CoefficientRow& row);
// Whether the libraries of the fit have what the term is of.
bool is_used(const CoefficientRow& row, const Fit& fit);
// How many numbers were fitted: terms and clocks that have an effect.
int64_t coefficients(const Fit& fit);

}  // namespace plimsoll
