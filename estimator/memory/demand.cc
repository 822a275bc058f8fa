#include "estimator/memory/demand.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

WorkspacePlan with_least_scratch(WorkspacePlan workspaces) {
  for (WorkspaceUse& use : workspaces.uses)
    use = {.bytes = std::min(use.bytes, use.least), .least = std::min(use.bytes, use.least)};
  return workspaces;
}

GrownMemory take_demand(DeviceMemory& memory, const Context& context, double spread) {
  const GrownMemory grown{memory.device_bytes, {memory.low, memory.high}};
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
  return grown;
}

}  // namespace plimsoll
