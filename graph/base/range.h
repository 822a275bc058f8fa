// Two ends of a prediction.
#pragma once

#include <cstdint>

namespace plimsoll {

struct Range {
  int64_t low = 0, high = 0;
};

}  // namespace plimsoll
