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

// What a recorded step lets go of that the step before had allocated is there twice: from the first
// event on, and as a storage that is freed when all else is over. To an allocator they are one,
// which the first step does not find. By BufferId: the one that takes its place at the end, of its
// size and stream; kNoBuffer for all others. Cost: one walk over both ends.
std::vector<BufferId> carried_over(const Step& step, const std::vector<int64_t>& bytes);

}  // namespace plimsoll
