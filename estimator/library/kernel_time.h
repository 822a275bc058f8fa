// kernel_time: how long one kernel takes on one card. The one function that estimates and fits use.
//
//   TimeContext context(rates, Calibrations::shipped(), {.library = {.cudnn = 605, .cublas =
//   800}}); KernelTime t = kernel_time(kernel, context);   // t.seconds, t.algorithm, t.low ..
//   t.high
//
// Law: seconds >= max(flop really done / peak at the highest clock, compulsory bytes / bandwidth).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/kernels/bound_by.h"
#include "estimator/kernels/conv_algorithms.h"
#include "estimator/kernels/device_rates.h"
#include "estimator/kernels/select_fit.h"
#include "estimator/kernels/time_context.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

struct KernelTime {
  double seconds = 0;
  // Of it, arithmetic and the traffic beside it: the longer of the two counts.
  double compute_seconds = 0, memory_seconds = 0;
  double low = 0, high = 0;    // seconds; 90 of 100 measured kernels lie between
  std::string_view algorithm;  // "WINOGRAD", "128x64 split 4"; empty for memory-bound work
  double flop = 0;             // really done, in the mathematics of the algorithm
  double bytes = 0;            // device memory traffic
  double workspace = 0;        // bytes the algorithm needs
  double converted = 0;        // of `seconds`: copies between layouts, kernels of their own
  BoundBy bound_by = BoundBy::kCompute;
  double fraction_of_peak = 0;   // of what its work is bound by, also where bound_by is latency
  int basis = 0;                 // for TimeContext::basis()
  int64_t launches = 1;          // by the host, one by one; 0: their time is in `seconds`
  bool on_tensor_cores = false;  // a product of matrices, or attention
  bool operator==(const KernelTime&) const = default;
};

// Seconds at the clock that the card sustains: arithmetic takes as much longer, and what waits for
// memory waits no longer.
double at_sustained_clock(const KernelTime& time, const DeviceRates& rates);

// How the seconds of one launch come to be: ((work + launch) * in_situ + layout) * machine, but no
// less than its bytes or operations take by law.
struct KernelTimeChain {
  double work = 0;     // by the model of the kernel's class, carried over to this card
  double launch = 0;   // what of its launch is no part of the work
  double in_situ = 1;  // times as long inside a step as timed alone
  double layout = 0;   // copies between layouts
  double machine = 1;  // times as long on this very machine
  // By law: of operands read and written once, and of operations, at the card's highest rates.
  double traffic = 0, operations = 0;
  double predicted() const { return ((work + launch) * in_situ + layout) * machine; }
  double floor() const { return traffic > operations ? traffic : operations; }
  double seconds() const { return predicted() > floor() ? predicted() : floor(); }
};

// Of kernel_time()'s seconds. An unrolled layer's work is all that its kernels take.
KernelTimeChain kernel_time_chain(const KernelAt& kernel, const TimeContext& context);

// Cost: 0.1-2 microseconds once its class is prepared.
KernelTime kernel_time(const KernelAt& kernel, const TimeContext& context);

// What the calibration behind it was measured on.
Evidence evidence_of(const KernelAt& kernel, const TimeContext& context);

// What prices a kernel: its class, as calibrations name it, the arithmetic and how far off its
// predictions are known to be, ln.
struct PricedAs {
  std::string_view kernel_class;
  Arithmetic arithmetic{};
  double range90 = 0;
};
PricedAs priced_as(const KernelAt& kernel, const TimeContext& context);

// Every algorithm that a convolution is offered, fastest first, whatever the policy says; empty for
// other kernels.
std::vector<ConvCost> conv_alternatives(const KernelAt& kernel, const TimeContext& context);

// A convolution's time by one of them, as kernel_time() comes to the chosen one's.
KernelTime kernel_time_by(const ConvCost& algorithm, const KernelAt& kernel,
                          const TimeContext& context);

}  // namespace plimsoll
