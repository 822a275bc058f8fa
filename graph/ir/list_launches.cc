#include "graph/ir/list_launches.h"

#include <algorithm>
#include <array>

namespace plimsoll {

int64_t list_launches(std::span<const Dim> counts, size_t lists, bool scalars) {
  static constexpr std::array<int64_t, 5> kTensors = {110, 64, 48, 36, 30};
  static constexpr std::array<int64_t, 5> kTensorsOfScalars = {96, 64, 48, 36, 30};
  static constexpr int64_t kBlocks = 320, kChunk = 65536;
  const int64_t most = (scalars ? kTensorsOfScalars : kTensors)[lists - 1];
  int64_t launches = 0, tensors = 0, blocks = 0;
  for (const Dim& count : counts) {
    int64_t chunks = ceil_div(count, Dim(kChunk)).constant().value_or(1);
    ++tensors;
    while (chunks > 0) {
      const int64_t here = std::min(chunks, kBlocks - blocks);
      chunks -= here;
      blocks += here;
      if (blocks < kBlocks && (chunks > 0 || tensors < most)) continue;
      ++launches;
      blocks = 0;
      tensors = chunks > 0 ? 1 : 0;
      if (chunks > kBlocks) {  // whole launches of this tensor
        launches += (chunks - 1) / kBlocks;
        chunks = (chunks - 1) % kBlocks + 1;
      }
    }
  }
  return launches + (blocks > 0 ? 1 : 0);
}

Dim share_of_launch(const Dim& whole, int64_t launches, bool first) {
  if (launches == 1) return whole;
  const Dim each = floor_div(whole, launches);
  return first ? whole - each * Dim(launches - 1) : each;
}

}  // namespace plimsoll
