// RecordedStreams: the streams of a recorded program, by the numbers that it gave them, as a step
// has them. 0 is the compute stream; the memory of each other is apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "graph/ir/step.h"

namespace plimsoll {

class RecordedStreams {
 public:
  // Allocators know 255 (estimator/memory/allocator), of which a loader may have one.
  static constexpr size_t kMost = 250;

  // None where there are more.
  std::optional<Stream> at(int64_t number) {
    const size_t place = places_.try_emplace(number, places_.size()).first->second;
    return place <= kMost ? std::optional(static_cast<Stream>(place)) : std::nullopt;
  }

 private:
  std::map<int64_t, size_t> places_{{0, 0}};
};

}  // namespace plimsoll
