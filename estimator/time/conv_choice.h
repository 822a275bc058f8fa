// Which algorithm runs a convolution: chosen once, for its seconds and its scratch memory alike.
//
// A library offers algorithms, each with its scratch memory (estimator/memory/workspace.h); within
// the framework's limit, cuDNN's own first choice runs where it is known. Where it is not (cuDNN 5
// to 7), the shortest by the time model of the card does: what autotuning ends up with, and what
// the library's guess comes nearest to.
#pragma once

#include "estimator/memory/workspace_books.h"
#include "estimator/time/conv_algorithms.h"
#include "estimator/time/kernel_time.h"

namespace plimsoll {

// What a framework's library offers for convolutions on a card, and what the framework asks for.
struct ConvOffers {
  WorkspaceBooks books;
  WorkspacePolicy policy;
  // Filters of one pixel go to the library of products.
  bool pointwise_by_gemm = false;
};

// The one to take of several: the shortest, or the first that takes hardly longer, in the time of
// the shortest. `costs`: at least one.
ConvCost preferred(const ConvCosts& costs);

// The scratch memory and the time of the algorithm that runs. Both ask for the same choice.
// `context` has offers. No algorithm where the library is not asked. E232 and E301 as WorkspaceBook
// says.
Result<WorkspaceChoice> conv_scratch(const KernelAt& kernel, const TimeContext& context);
// Nothing where the library has no answer, or is not asked.
std::optional<ConvCost> offered_cost(const KernelAt& kernel, const struct ConvCall& call,
                                     const ConvModel& model, const TimeContext& context);
// Those that it could run beside, in any order.
std::vector<ConvCost> offered_costs(const KernelAt& kernel, const struct ConvCall& call,
                                    const ConvModel& model, const TimeContext& context);

}  // namespace plimsoll
