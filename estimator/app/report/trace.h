// A Trace in Chrome's trace format, for chrome://tracing, Perfetto and whatever else reads it: one
// track of launches per phase, one counter of live bytes by role. Of several GPUs a second process
// has the step as it waits for others: a track of the GPU, of each axis of the mesh and of each
// stage of a pipeline.
#pragma once

#include <optional>
#include <string>

#include "estimator/answer/trace.h"
#include "estimator/time/step_lanes.h"

namespace plimsoll {

std::string to_chrome_trace(const Trace& trace, const std::optional<StepLanes>& lanes = {});

}  // namespace plimsoll
