// A pipeline of stages, each of which holds other layers.
#pragma once

#include "estimator/evaluator.h"

namespace plimsoll {

// The memory of the stage that needs most, and the time of the slowest; what is assumed of the
// first; of the stage of --rank where that is given, and of one GPU that it is. `models`: as of
// estimate_once(). Cost: an estimate for each stage.
Result<Estimate> estimate_stages(Request request, const Hwdb& hwdb, ModelCache* models = nullptr);

}  // namespace plimsoll
