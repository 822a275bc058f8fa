#include "estimator/app/search/crossings.h"

#include <string>

#include "estimator/time/step_conditions.h"
#include "graph/parallel/axis_word.h"

namespace plimsoll {
namespace {

// By axis, as strategies (graph/parallel/strategies.cc) issue it.
std::string message_along(Axis axis, const ParallelPlan& plan) {
  switch (axis) {
    case Axis::kTensor:
      return plan.sequence_parallel
                 ? "gathers and scatters feature maps twice per block in each pass"
                 : "sums feature maps twice per block in each pass";
    case Axis::kShard:
      if (plan.sharded == Sharded::kWeights)
        return plan.keeps_gathered
                   ? "gathers weights and scatters gradients once per micro-batch"
                   : "gathers weights twice and scatters gradients once per micro-batch";
      return plan.sharded == Sharded::kGradients
                 ? "scatters gradients once per micro-batch and gathers weights once per update"
                 : "scatters gradients and gathers weights once per update";
    case Axis::kData:
      return "sums gradients once per update";
    case Axis::kContext:
      return plan.context_by == ContextBy::kUlysses
                 ? "exchanges parts of sequences for heads four times per block in each pass"
                 : "passes keys and values on once per block, and twice as much in the backward "
                   "pass";
    case Axis::kExpert:
      return "sends tokens to their experts and back once per block in each pass";
    case Axis::kStage:
      return "hands feature maps to the next stage and gradients back, once per micro-batch";
  }
  return "";
}

}  // namespace

std::vector<Crossing> crossings_of(const Request& request, const Platform& platform) {
  std::vector<Crossing> crossings;
  const auto plan = plan_on(request.parallel, request.gpu_count);
  if (!plan) return crossings;
  const ExchangeByAxis axes = exchange_by_axis(platform, plan->mesh);
  for (size_t i = 0; i < kAxisCount; ++i) {
    const auto axis = static_cast<Axis>(i);
    if (plan->mesh.extents[i] == 1) continue;
    const bool joined = axis == Axis::kShard && plan->sharded != Sharded::kNothing;
    const ExchangeGroup& group = axes[i + (joined ? kAxisCount : 0)].group;
    crossings.push_back({.axis = std::string(parallel::axis_word(axis, *plan)),
                         .ranks = plan->mesh.extents[i],
                         .per_node = group.per_node,
                         .link = group.per_node > 1 && platform.link ? platform.link->id : "",
                         .network = group.nodes > 1 && platform.network ? platform.network->id : "",
                         .what = message_along(axis, *plan)});
  }
  return crossings;
}

}  // namespace plimsoll
