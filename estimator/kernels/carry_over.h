// What a fit of one card says of a card whose multiprocessors multiply more slowly.
//
// A fit's efficiencies are shares of the peak of the card that was measured. What keeps a kernel
// below that peak (operands delivered, instructions issued, prologues, epilogues) is an amount of
// work for each multiprocessor and clock that is much the same on every card, and slower cores
// hide it. So shares travel as rates, in flop of a multiprocessor and clock:
//
//   rate(share) = min(own, delivered * share * measured)       the card's share: rate / own
//
// A pass, an algorithm or a layout that reaches `e` of its tile reaches rate(share * e) /
// rate(share) of it; a prologue, told in steps of the main loop, keeps its clocks. Faster cores
// come with operands delivered as much faster: there shares stay as they are.
#pragma once

#include <string_view>
#include <vector>

#include "estimator/kernels/device_rates.h"

namespace plimsoll {

// Flop of one multiprocessor in one clock, at most.
struct SmRate {
  double measured = 0;  // of the card that a fit is of
  double own = 0;       // of the card asked about
  int compute_capability = 0;
  bool tensor_cores = false;
  // Whether there is anything to convert.
  bool is_slower() const { return own > 0 && own < measured; }
};

// `terms` of a fit of kernel class `kernel_class` (hwdb/calibration_terms.h), for a card of this
// rate. As they are where it is not slower, and for classes whose terms are clocks or seconds.
std::vector<double> carried_over(std::vector<double> terms, std::string_view kernel_class,
                                 const SmRate& rate);

}  // namespace plimsoll
