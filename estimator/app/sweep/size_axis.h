// A grid of sizes: batches, images, lengths.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plimsoll {

struct SizeAxis {
  std::string symbol;  // "batch" is the model's batch, whatever its file calls it
  std::vector<int64_t> values;
};

// How many points a grid of sizes has; 1 without any axis. Saturates.
int64_t points_of(std::span<const SizeAxis> sizes);
// Which value of each axis a point has, the last axis changing fastest.
std::vector<size_t> place_of(int64_t point, std::span<const SizeAxis> sizes);

}  // namespace plimsoll
