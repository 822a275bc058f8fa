// What pages show beside tables: the memory curve, the largest tensors at its peak, modules.
#pragma once

#include <span>
#include <vector>

#include "estimator/answer/estimate.h"
#include "estimator/model/compiled_model.h"
#include "estimator/time/kernel_price.h"

namespace plimsoll {

// Fills memory_curve, peak_tensors and, of `layers`, modules. Arguments as of memory_curve().
void add_detail(Estimate& estimate, const CompiledModel& model, const BoundStep& bound,
                const std::vector<KernelPrice>& prices, int64_t granule,
                std::span<const BufferId> storages);

}  // namespace plimsoll
