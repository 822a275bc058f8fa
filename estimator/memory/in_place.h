// in_place: which outputs of a step take their input's storage. A step's events give every result
// a storage of its own, which is right for the peak of live bytes; but where the input dies in the
// same operation a program that works in place asks the allocator for nothing, and holes in its
// segments lie elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "estimator/behaviour/allocator.h"
#include "graph/ir/graph.h"
#include "graph/ir/step.h"

namespace plimsoll {

// By BufferId: the buffer whose storage it takes over, or itself. `bytes` by BufferId. Cost: one
// walk over the events.
std::vector<BufferId> storage_taken(const Graph& graph, const Step& step,
                                    const std::vector<int64_t>& bytes, InPlaceReuse reuse);

}  // namespace plimsoll
