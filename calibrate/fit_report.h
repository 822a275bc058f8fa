// What a fit has to show: its terms, and how far off it is on kernels that it has not seen.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "hwdb/fit.h"

namespace plimsoll {

struct PassScore {
  int64_t kernels = 0;
  double error = 0, median = 0;  // of |error|, five-fold
  double roofline = 0;           // mean of max(flop / peak, bytes / bandwidth)
};

struct FitReport {
  Fit fit;                                               // for the plan's first capability
  std::map<std::string, PassScore, std::less<>> passes;  // of `fit.passes`
  int64_t named = 0, agreed = 0;  // algorithms the source names, and that autotuning would choose
  double coverage = 0;            // share of left-out kernels within their 90 % range
};

}  // namespace plimsoll
