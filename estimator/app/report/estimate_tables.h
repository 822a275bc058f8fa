// Tables of an estimate: its layers, and the kernels of its step.
#pragma once

#include <cstdint>

#include "estimator/answer/estimate.h"
#include "estimator/app/report/table.h"

namespace plimsoll {

// A row a layer; `depth` > 0: folded into modules of so many path parts.
Table layer_table(const Estimate& estimate, int64_t depth);
// A row for each distinct kernel, by its share of the time.
// Metrics as published studies define them, categories of memory, and kernels by class.
std::string metrics_text(const Estimate& estimate, const Page& page);

Table kernel_table(const Estimate& estimate);

}  // namespace plimsoll
