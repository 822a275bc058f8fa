#include "estimator/memory/demand.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plimsoll {

WorkspacePlan with_least_scratch(WorkspacePlan workspaces) {
  for (WorkspaceUse& use : workspaces.uses)
    use = {.bytes = std::min(use.bytes, use.least), .least = std::min(use.bytes, use.least)};
  return workspaces;
}

WorkspacePlan with_chosen_scratch(WorkspacePlan workspaces) {
  for (WorkspaceUse& use : workspaces.uses) use.least = use.bytes;
  return workspaces;
}

void give_way(MemoryEstimate& memory, const MemoryEstimate& least, int64_t usable) {
  auto& [low, high] = memory.device_range;
  low = std::min(low, least.device_range.low);
  high = std::max({memory.device_bytes, least.device_range.high, std::min(high, usable)});
  if (memory.minimum_bytes && least.minimum_bytes)
    memory.minimum_bytes = std::min(*memory.minimum_bytes, *least.minimum_bytes);
  if (memory.grown && least.grown)
    memory.grown->range.low = std::min(memory.grown->range.low, least.grown->range.low);
}

void take_demand(MemoryEstimate& memory, const Context& context, double spread) {
  GrownMemory most{memory.device_bytes, memory.device_range};
  const int64_t minimum = memory.minimum_bytes.value_or(memory.device_bytes);
  memory.device_bytes = minimum;
  memory.reserved_bytes = minimum - memory.context_bytes;
  memory.allocated_peak_bytes = std::min(memory.allocated_peak_bytes, memory.reserved_bytes);
  const double half = spread * static_cast<double>(memory.reserved_bytes);
  const auto reach = [&](int64_t of_context) {
    return static_cast<int64_t>(std::llround(std::hypot(half, static_cast<double>(of_context))));
  };
  const int64_t below = context.low > 0 ? context.bytes - context.low : 0;
  const int64_t above = context.high > 0 ? context.high - context.bytes : 0;
  memory.device_range = {std::max<int64_t>(0, minimum - reach(below)), minimum + reach(above)};
  most.range.low = std::max(most.range.low, std::min(memory.device_range.low, most.bytes));
  memory.grown = most;
}

Range tensors_range(int64_t steady, const Step& step, const std::vector<BytesByRole>& live,
                    const WorkspacePlan& workspaces, double spread) {
  int64_t tensors = 0, chosen = 0, most = 0;
  for (size_t i = 0; i < live.size(); ++i) {
    const int64_t here = std::accumulate(live[i].begin(), live[i].end(), int64_t{0});
    const Event& e = step.events[i];
    tensors = std::max(tensors, here);
    if (e.kind != Event::Kind::kLaunch) continue;
    const WorkspaceUse& use = workspaces.uses[e.id];
    chosen = std::max(chosen, here + use.bytes);
    most = std::max(most, here + std::max(use.bytes, use.largest));
  }
  const int64_t more = std::max<int64_t>(0, most - std::max(tensors, chosen));
  const auto times = [](int64_t bytes, double factor) {
    return static_cast<int64_t>(std::llround(factor * static_cast<double>(bytes)));
  };
  return {times(tensors, 1 - spread), times(steady + more, 1 + spread)};
}

}  // namespace plimsoll
