// The factors of a machine file, from kernels that were measured on it and their predicted times.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hwdb/machine.h"

namespace plimsoll::calibrate {

struct MeasuredRatio {
  std::string kernel_class, arithmetic, pass;
  double ln = 0;         // of measured over predicted
  double predicted = 0;  // its time
  double range90 = 0;    // ln: how far off predictions of this class are known to be
};

struct FactorFit {
  MachineFactor factor;
  std::string refused;  // why it does not stand in the file; empty: it does
};

// One for each class, arithmetic and pass, in the order of their names.
//
// A factor makes the kernels' time least wrong in all, and is drawn towards no correction as far as
// the spread of few kernels leaves it open: the prediction is the prior, its known range the
// prior's width. It is refused where it makes kernels worse that it did not see (five folds), or
// there are fewer than four.
std::vector<FactorFit> fit_factors(std::span<const MeasuredRatio> ratios);

}  // namespace plimsoll::calibrate
