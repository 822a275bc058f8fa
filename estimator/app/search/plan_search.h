// plan_search: from a cluster to its best plans. All ways to share a model between the GPUs are
// considered; those that keep more than a card has are left out, the others are compared by the
// figures of their blocks (plan_outline.h), and the most promising are estimated as estimate()
// does.
//
//   auto advice = advise_plans(request, *hwdb, {.global_batch = 512});
//   advice->plans.front().settings   // "--tp 8 --pp 4 --zero 1 --batch 1 --micro-batches 64"
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "estimator/app/search/plan_advice.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct PlanSearchOptions {
  // Samples of an update; else those of the request on as many GPUs without a plan.
  std::optional<int64_t> global_batch{};
  std::optional<double> tokens{};  // of a run, where the model counts tokens
  std::optional<double> price{};   // of an hour of a GPU
  bool lanes = false;              // of the first plan: an estimate more
  size_t threads = 1;
};

// What the request says of axes, sharding, schedule and checkpointing holds for all plans; its
// micro-batch too, where the global batch is given. Errors: as estimate(), E120 where no plan
// shares the samples. Cost: three estimates of a block for each way to split and fill it, then some
// fifty estimates; comparing takes microseconds a plan.
Result<PlanAdvice> advise_plans(const Request& request, const Hwdb& hwdb,
                                const PlanSearchOptions& options);

}  // namespace plimsoll
