// Of several answers those that no other beats: none takes less memory and is as fast.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll {

struct MemoryAndPace {
  int64_t bytes = 0;
  double pace = 0;
  bool counts = true;  // what does not fit beats nothing, and is beaten
};

// One entry for each; of equals the first is unbeaten. Cost: to sort them.
std::vector<char> pareto_front(std::span<const MemoryAndPace> answers);

}  // namespace plimsoll
