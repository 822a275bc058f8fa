// Learn a correction: the weights of tents around measured shapes that reproduce what the formulas
// leave over, with as much doubt in each measurement as `noise` says (a Gaussian process whose
// covariance is the tents' product).
#pragma once

#include <span>
#include <vector>

#include "hwdb/calibration.h"

namespace plimsoll {

struct Leftover {
  std::span<const double> features;
  int device = 0;
  double log_ratio = 0;  // ln(measured / formula)
};

struct Tents {
  std::vector<double> reach;
  double kinship = .9;
  double noise = .05;  // variance of a measurement relative to that of the leftovers
};

// The tents a kernel class starts from; tuned on all groups together.
Tents default_tents(std::string_view kernel_class);

// Cost: cubic in the number of leftovers, a second for 1000.
Correction learn_correction(const std::vector<Leftover>& leftovers, const Tents& tents,
                            std::vector<std::string> devices);

}  // namespace plimsoll
