// static_planner: frameworks that know the whole program before it runs and assign memory to its
// tensors ahead of time, as MXNet's graph executor does (src/nnvm/plan_memory.cc).
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

// A tensor's size and life, as positions in the program: [born, dies).
struct PlannedTensor {
  int64_t bytes = 0;
  int32_t born = 0, dies = 0;
};

// Bytes of all memory the plan needs. `tensors` in the order of their birth. Cost: n log n.
int64_t planned_bytes(const std::vector<PlannedTensor>& tensors);

}  // namespace plimsoll
