#include "estimator/pipeline.h"

#include <optional>
#include <utility>
#include <vector>

#include "estimator/request/parallel_request.h"

namespace plimsoll {

Result<Estimate> estimate_stages(Request request, const Hwdb& hwdb, ModelCache* models) {
  const auto plan = plan_on(request.parallel, request.gpu_count);
  if (!plan || request.given.contains("rank")) return estimate_once(request, hwdb, models);
  std::optional<Estimate> worst;
  TimeEstimate slowest;
  std::vector<Assumption> assumed;  // of the first stage, which has the inputs
  for (const int64_t rank : ranks_of_stages(plan->mesh)) {
    request.parallel.rank = rank;
    auto one = estimate_once(request, hwdb, models);
    if (!one) return one;
    if (!worst) assumed = one->assumed;
    if (one->time.step_ns > slowest.step_ns) slowest = one->time;
    if (!worst || one->memory.device_bytes > worst->memory.device_bytes) worst = std::move(*one);
  }
  worst->time = std::move(slowest);
  worst->assumed = std::move(assumed);
  return std::move(*worst);
}

}  // namespace plimsoll
