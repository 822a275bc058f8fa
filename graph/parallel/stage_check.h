// What a pipeline's plan asks of a network and of its micro-batches.
#pragma once

#include "graph/base/diagnostic.h"
#include "graph/ir/recipe.h"

namespace plimsoll::parallel {

// `blocks`: of the network. E120 where there are fewer than chunks of all stages, with the nearest
// number that works.
Result<void> check_blocks(int64_t blocks, const ParallelPlan& plan);

// E120 where the schedule does not take so many micro-batches, with the nearest number that works,
// or gradients that wait are sharded; else W601 where fewer than stages leave some idle, W602 where
// stages have more blocks than others. A forward pass alone has none to ask.
Result<Diagnostics> check_stages(int64_t blocks, const Recipe& recipe);

}  // namespace plimsoll::parallel
