#include "estimator/pipeline.h"

#include <optional>
#include <utility>

#include "estimator/request/parallel_request.h"

namespace plimsoll {

Result<Estimate> estimate_stages(Request request, const Hwdb& hwdb, ModelCache* models) {
  const auto plan = plan_on(request.parallel, request.gpu_count);
  if (!plan || request.given.contains("rank")) return estimate_once(request, hwdb, models);
  std::optional<Estimate> worst;
  TimeEstimate slowest;
  for (const int64_t rank : ranks_of_stages(plan->mesh)) {
    request.parallel.rank = rank;
    auto one = estimate_once(request, hwdb, models);
    if (!one) return one;
    if (one->time.step_ns > slowest.step_ns) slowest = one->time;
    if (!worst || one->memory.device_bytes > worst->memory.device_bytes) worst = std::move(*one);
  }
  worst->time = std::move(slowest);
  return std::move(*worst);
}

}  // namespace plimsoll
