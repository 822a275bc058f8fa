// The scratch memory of one distinct problem, as its launches take it.
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

struct WorkspaceUse {
  int64_t bytes = 0;
  // Where the library is timed first (PyTorch's cudnn.benchmark): the largest plan's scratch, used
  // once. 0: not timed.
  int64_t largest = 0;
  // Where each algorithm is timed with scratch memory of its own, theirs in order; the device may
  // refuse one.
  std::vector<int64_t> tried = {};
  int64_t least = 0;   // of the plan with the smallest scratch; taken where the device is full
  bool exact = false;  // no choice is behind it: nothing of the range
  bool operator==(const WorkspaceUse&) const = default;
};

}  // namespace plimsoll
