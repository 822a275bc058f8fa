// static_planner: frameworks that know the whole program before it runs and assign memory to its
// tensors ahead of time: MXNet's graph executor, CNTK, Caffe, and offset planners.
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

struct StaticRules {
  enum class Strategy : uint8_t {
    kNone,     // Caffe: every blob has its own memory for good
    kNnvm,     // MXNet, src/nnvm/plan_memory.cc: freed storages are matched by size within a range
    kSharing,  // CNTK's matrix pool: largest first, into any buffer that is idle all its life
    kOffsets,  // largest first, to the lowest offset that is free all its life (TensorFlow Lite)
  };
  Strategy strategy = Strategy::kNnvm;
  int64_t match_range = 16;  // NNVM_EXEC_MATCH_RANGE: a storage serves 1/16 to 16 times its size
  int64_t granule = 1;       // to which sizes are rounded up
};

// A tensor's size and life, as positions in the program: [born, dies).
struct PlannedTensor {
  int64_t bytes = 0;
  int32_t born = 0, dies = 0;
};

// Bytes of all memory the plan needs. `tensors` in the order of their birth. Cost: n log n for
// kNnvm, n^2 at worst for the others.
int64_t planned_bytes(const std::vector<PlannedTensor>& tensors, const StaticRules& rules);

}  // namespace plimsoll
