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

void give_way(DeviceMemory& memory, const DeviceMemory& least, int64_t usable) {
  memory.low = std::min(memory.low, least.low);
  memory.high = std::max({memory.device_bytes, least.high, std::min(memory.high, usable)});
  memory.minimum = std::min(memory.minimum, least.minimum);
}

GrownMemory take_demand(DeviceMemory& memory, const Context& context, double spread) {
  GrownMemory most{memory.device_bytes, {memory.low, memory.high}};
  memory.device_bytes = memory.minimum;
  memory.reserved = memory.minimum - memory.context;
  memory.allocated = std::min(memory.allocated, memory.reserved);
  memory.live = std::min(memory.live, memory.allocated);
  memory.fragmentation = memory.reserved - memory.allocated;
  const double half = spread * static_cast<double>(memory.reserved);
  const auto reach = [&](int64_t of_context) {
    return static_cast<int64_t>(std::llround(std::hypot(half, static_cast<double>(of_context))));
  };
  const int64_t below = context.low > 0 ? context.bytes - context.low : 0;
  const int64_t above = context.high > 0 ? context.high - context.bytes : 0;
  memory.low = std::max<int64_t>(0, memory.minimum - reach(below));
  memory.high = memory.minimum + reach(above);
  most.range.low = std::max(most.range.low, std::min(memory.low, most.bytes));
  return most;
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
