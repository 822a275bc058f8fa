#include "estimator/request/weight_loading.h"

namespace plimsoll {

WeightLoading loading_of(std::optional<WeightLoading> given, const Recipe& recipe) {
  if (given) return *given;
  const ParallelPlan& plan = recipe.parallel;
  const bool flat = plan.is_sharded() && plan.sharded_by == ShardedBy::kFsdp1;
  return flat ? WeightLoading::kUnits : WeightLoading::kParts;
}

}  // namespace plimsoll
