// PlanOutline: what a plan comes to by the figures of its blocks alone: what it keeps, which its
// memory cannot be below, and about how much memory and time it needs, to choose which plans are
// worth an estimate.
#pragma once

#include <cstdint>

#include "estimator/app/search/block_price.h"
#include "estimator/app/search/cluster_plan.h"
#include "estimator/request/platform.h"

namespace plimsoll {

struct PlanOutline {
  // Weights, gradients and optimizer states of the rank that has most, and what is beside the
  // allocator: no step of the plan needs less.
  int64_t kept_bytes = 0;
  int64_t bytes = 0;  // with feature maps, temporaries and what is gathered
  double seconds = 0;
};

// Cost: a microsecond.
int64_t kept_bytes(const ClusterPlan& plan, const NetworkPrice& price);
// `platform`: of the cluster, whoever shares the model. `price`: of the plan's own block settings.
PlanOutline outline_of(const ClusterPlan& plan, const NetworkPrice& price,
                       const Platform& platform);

}  // namespace plimsoll
