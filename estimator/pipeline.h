// A pipeline of stages, each of which holds other layers.
#pragma once

#include <cstdint>
#include <vector>

#include "estimator/evaluator.h"

namespace plimsoll {

// Of a pipeline's stages as ranks_of_stages() has them, each answered as if all were alike.
struct StageWaits {
  std::vector<int64_t> bubble_ns;
  size_t slowest = 0;

  // Of the other stages of `stages`, the passes over those of the slowest, in the mean: it waits
  // until the first micro-batch has come through those before it, and the last one back through
  // them, at their own pace. Stages that were not answered are as their neighbours in the mean.
  double other_stages(int64_t stages) const;
};

// The time of a stage whose bubble is as long as the others', not as if all were as slow.
void wait_for_others(double other_stages, TimeEstimate& time);

// The memory of the stage that needs most, and the time of the slowest; what is assumed of the
// first; of the stage of --rank where that is given, and of one GPU that it is. `models`: as of
// estimate_once(). Cost: an estimate for each stage, and one more where there is a picture of it.
Result<Estimate> estimate_stages(Request request, const Hwdb& hwdb, ModelCache* models = nullptr);

}  // namespace plimsoll
