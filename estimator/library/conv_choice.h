// Which algorithm runs a convolution: chosen once, for its seconds and its scratch memory alike.
//
// cuDNN 8 and 9 name the engine they would run, with its scratch memory (hwdb/workspaces): within
// the framework's limit that engine is the choice, and its kind of algorithm tells its time. cuDNN
// 5 to 7 cannot be asked: time takes the shortest algorithm of the card's calibration, memory what
// measured choices point to (estimator/library/workspace/legacy.h). Taking time's choice for both
// would give TBD's ResNet-50 on a P4000 transforms that its measured memory does not hold.
#pragma once

#include "estimator/kernels/conv_algorithms.h"
#include "estimator/library/conv_call.h"
#include "estimator/library/workspace/table_cache.h"

namespace plimsoll {

// What a framework's library offers for convolutions on a card, and what the framework asks for.
struct ConvOffers {
  WorkspaceTableCache tables;
  WorkspacePolicy policy;
  // Filters of one pixel go to the library of products.
  bool pointwise_by_gemm = false;
  // Somebody asks what scratch memory buys, by a limit of his own.
  bool asks_for_trade = false;
};

// The one to take of several: the shortest, or the first that takes hardly longer, in the time of
// the shortest. `costs`: at least one.
ConvCost preferred(const ConvCosts& costs);

// The scratch memory and the time of the algorithm that runs. Both ask for the same choice.
// `context` has offers. No algorithm where the library is not asked. E232 and E301 as
// WorkspaceTables says.
Result<WorkspaceChoice> conv_scratch(const KernelAt& kernel, const TimeContext& context);
// Nothing where the library has no answer, or is not asked.
std::optional<ConvCost> offered_cost(const KernelAt& kernel, const ConvCall& call,
                                     const ConvModel& model, const TimeContext& context);
// Those that it could run beside, in any order.
std::vector<ConvCost> offered_costs(const KernelAt& kernel, const ConvCall& call,
                                    const ConvModel& model, const TimeContext& context);

}  // namespace plimsoll
