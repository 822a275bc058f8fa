// Which algorithm runs a convolution: chosen once, for its seconds and its scratch memory alike.
//
// cuDNN 8 and 9 name the engine they would run, with its scratch memory (hwdb/workspaces): within
// the framework's limit that engine is the choice, and its kind of algorithm tells its time. cuDNN
// 5 to 7 cannot be asked: of what supports the problem (estimator/library/workspace/legacy.h) and
// keeps the limit, the shortest by the card's calibration is the choice, as a library that times
// its algorithms finds, and one that guesses tries to.
#pragma once

#include "estimator/behaviour/library.h"
#include "estimator/kernels/conv_algorithms.h"
#include "estimator/library/conv_call.h"
#include "estimator/library/workspace/table_cache.h"

namespace plimsoll {

// What a framework's library offers for convolutions on a card, and what the framework asks for.
struct ConvOffers {
  WorkspaceTableCache tables;
  LibraryBehaviour behaviour;
};

// The one to take of several: the shortest, or the first that takes hardly longer, in the time of
// the shortest. `costs`: at least one.
ConvCost preferred(std::span<const ConvCost> costs);

// Beyond this times implicit GEMM's no algorithm is chosen where the shortest is.
inline constexpr double kWorthALook = 1.03;

// How a library runs a convolution.
struct ConvChoice {
  WorkspaceChoice scratch;       // no algorithm where the library is not asked
  std::optional<ConvCost> cost;  // of one call, with the plan's scratch memory; none where no
                                 // algorithm of the library is priced
};

// The choice. `context` has offers. E232 and E301 as WorkspaceTables says. Cost: a look-up and the
// prices of all algorithms, some microseconds.
Result<ConvChoice> choose_convolution(const KernelAt& kernel, const TimeContext& context);

// Those that it could run beside, in any order.
std::vector<ConvCost> offered_costs(const KernelAt& kernel, const TimeContext& context);

// The same card and framework where convolutions take at most `bytes` of scratch memory, or the
// limit that there is. `context` has offers.
TimeContext within(const TimeContext& context, int64_t bytes);

}  // namespace plimsoll
