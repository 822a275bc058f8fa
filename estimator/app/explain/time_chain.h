// How the time of a kernel in a step comes to be, line by line: the roof of its card, what such
// kernels reach of it, its launch, what a step does to it. Of the path that the answer took, and no
// other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/library/kernel_time.h"
#include "graph/ir/kernel.h"
#include "graph/json/fields.h"

namespace plimsoll {

// One line of how a kernel's time comes to be.
struct TimeLine {
  std::string what;  // "roofline", "efficiency", "launch", ...
  std::string why;
  int64_t ns = 0;  // with the lines before it
};

inline void describe(Fields& f, TimeLine& l) {
  f("what", l.what);
  f("why", l.why);
  f("ns", l.ns);
}

struct ExplainedKernel {
  const KernelAt& kernel;
  const KernelTime& time;
  // Of its operations at the peak of the unit, and of its bytes at the memory's bandwidth.
  int64_t compute_ns = 0, dram_ns = 0;
  std::string_view arithmetic;
  double framework_factor = 1;  // of kernels in its steps
  double seconds = 0;           // in the step
};

// The last line's figure is that of the step.
std::vector<TimeLine> time_chain(const ExplainedKernel& of, const TimeContext& context);

}  // namespace plimsoll
