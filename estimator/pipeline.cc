#include "estimator/pipeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "estimator/request/parallel_request.h"

namespace plimsoll {

double StageWaits::other_stages(int64_t stages) const {
  const size_t answered = bubble_ns.size();
  if (answered < 2 || bubble_ns[slowest] <= 0) return 1;
  auto all = static_cast<double>(std::accumulate(bubble_ns.begin(), bubble_ns.end(), int64_t{0}));
  const int64_t between = stages - static_cast<int64_t>(answered);
  if (between > 0)
    all += static_cast<double>(between) / 2 * static_cast<double>(bubble_ns[1] + bubble_ns[2]);
  const auto slow = static_cast<double>(bubble_ns[slowest]);
  return (all - slow) / (static_cast<double>(stages - 1) * slow);
}

void wait_for_others(double other_stages, TimeEstimate& t) {
  if (t.step_ns <= 0 || other_stages == 1) return;
  const auto scaled = [](int64_t ns, double by) {
    return std::llround(static_cast<double>(ns) * by);
  };
  const int64_t bubble = scaled(t.bubble_ns, other_stages);
  const int64_t step = t.step_ns - t.bubble_ns + bubble;
  const double longer = static_cast<double>(step) / static_cast<double>(t.step_ns);
  t.bubble_ns = bubble;
  t.step_ns = step;
  t.step_range_ns = {scaled(t.step_range_ns.low, longer), scaled(t.step_range_ns.high, longer)};
  for (auto* ns : {&t.epoch_ns, &t.run_ns}) {
    if (*ns) *ns = scaled(**ns, longer);
  }
  t.samples_per_second /= longer;
  for (auto* rate : {&t.tokens_per_second, &t.mfu, &t.hfu}) {
    if (*rate) **rate /= longer;
  }
  t.gpu_busy = std::min(1.0, t.gpu_busy / longer);
  t.cpu_utilisation = std::min(1.0, t.cpu_utilisation / longer);
}

Result<Estimate> estimate_stages(Request request, const Hwdb& hwdb, ModelCache* models) {
  const auto plan = plan_on(request.parallel, request.gpu_count);
  if (!plan || request.given.contains("rank")) return estimate_once(request, hwdb, models);
  std::optional<Estimate> worst;
  TimeEstimate slowest;
  StageWaits waits;
  std::vector<Assumption> assumed;  // of the first stage, which has the inputs
  const std::vector<int64_t> ranks = ranks_of_stages(plan->mesh);
  for (const int64_t rank : ranks) {
    request.parallel.rank = rank;
    auto one = estimate_once(request, hwdb, models);
    if (!one) return one;
    if (!worst) assumed = one->assumed;
    waits.bubble_ns.push_back(one->time.bubble_ns);
    if (one->time.step_ns > slowest.step_ns) {
      slowest = one->time;
      waits.slowest = waits.bubble_ns.size() - 1;
    }
    if (!worst || one->memory.device_bytes > worst->memory.device_bytes) worst = std::move(*one);
  }
  const double others = waits.other_stages(plan->mesh.extent(Axis::kStage));
  if (slowest.lanes && others != 1) {
    request.parallel.rank = ranks[waits.slowest];
    request.other_stages = others;
    auto pictured = estimate_once(request, hwdb, models);
    if (!pictured) return pictured;
    slowest.lanes = std::move(pictured->time.lanes);
  }
  wait_for_others(others, slowest);
  worst->time = std::move(slowest);
  worst->assumed = std::move(assumed);
  return std::move(*worst);
}

}  // namespace plimsoll
