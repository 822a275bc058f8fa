// timetable: when each stage of a pipeline runs the passes of a step's micro-batches, where a pass
// begins as soon as its stage is free and what it needs is there. What is left of a stage's time is
// the bubble: bubble_of() (schedule.h) has its sum by formulas.
#pragma once

#include <vector>

#include "graph/parallel/schedule.h"

namespace plimsoll::parallel {

// Seconds of a micro-batch in a stage, through all of its chunks; in the others `others` times as
// many.
struct PassSeconds {
  double forward = 0, backward = 0;
  double weights = 0;  // of `backward`, gradients of weights: apart with Schedule::kZeroBubble
  double others = 1;
};

struct TimedWork {
  Work work;
  double begin = 0, end = 0;  // seconds since the first pass began
};

// By stage, in the order in which it runs them; `given.stage` has the seconds. Empty where passes
// would wait for each other for ever. Cost: linear in passes times stages.
std::vector<std::vector<TimedWork>> timetable(Schedule schedule, const Stage& given,
                                              const PassSeconds& seconds);

}  // namespace plimsoll::parallel
