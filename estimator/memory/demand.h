// demand: the smallest memory in which a step runs, where a framework takes more as long as there
// is room: pools that double, scratch memory for faster algorithms of convolutions. By it a verdict
// goes, for a smaller card refuses the rest and the step runs none the less.
#pragma once

#include <vector>

#include "estimator/library/workspace_plan.h"
#include "estimator/memory/device_memory.h"
#include "estimator/memory/memory_estimate.h"
#include "estimator/memory/timeline.h"

namespace plimsoll {

// The same kernels with no more scratch memory than they can do with. Whoever times algorithms is
// left with these where memory is short: what does not get its scratch memory is no candidate
// (MXNet's cudnnFind, CNTK's, Theano's; Caffe's base_conv_layer takes the algorithm without any).
WorkspacePlan with_least_scratch(WorkspacePlan workspaces);

// The same kernels with all the scratch memory that was chosen for them: none is refused.
WorkspacePlan with_chosen_scratch(WorkspacePlan workspaces);

// `memory`: what a step takes with the algorithms that were chosen, `least` with those that need no
// more than they can do with. The range begins at the least; it ends where the card does, for what
// is not there is not taken, unless the least may need more.
void give_way(MemoryEstimate& memory, const MemoryEstimate& least, int64_t usable);

// Makes of `memory`, whose minimum is known, what the step needs, and keeps as `grown` what it was:
// what the process takes where there is room, which is never less than the step needs. `spread`:
// half-width of the 95 % range of what lies beside the context, as a share. Holds allocated <=
// reserved.
void take_demand(MemoryEstimate& memory, const Context& context, double spread);

// Of `steady` bytes in use: tensors alone, and what it comes to where each problem is given the
// most scratch memory that an algorithm was timed with; `spread` off. `live`: after each event of
// the step.
Range tensors_range(int64_t steady, const Step& step, const std::vector<BytesByRole>& live,
                    const WorkspacePlan& workspaces, double spread);

}  // namespace plimsoll
