#include "estimator/library/workspace/reduction.h"

#include <algorithm>
#include <array>
#include <bit>

#include "graph/base/checked.h"

namespace plimsoll {
namespace {

// Reduce.cuh's own.
constexpr int64_t kThreads = 512, kWarp = 32;
constexpr int64_t kLeastValues = 16, kMostValues = 256;  // that a thread adds up

// Resident threads of a multiprocessor (CUDA C++ Programming Guide, technical specifications per
// compute capability): from the first capability on that has as many.
struct ResidentThreads {
  ComputeCapability since;
  int64_t threads;
};
constexpr std::array kResidentThreads = {
    ResidentThreads{{0, 0}, 2048}, ResidentThreads{{7, 5}, 1024}, ResidentThreads{{8, 0}, 2048},
    ResidentThreads{{8, 6}, 1536}, ResidentThreads{{9, 0}, 2048}, ResidentThreads{{11, 0}, 1536},
};

int64_t resident_threads(const ComputeCapability& capability) {
  const auto above =
      std::ranges::upper_bound(kResidentThreads, capability, {}, &ResidentThreads::since);
  return std::prev(above)->threads;
}

int64_t power_of_two_up_to(int64_t n, int64_t most) {
  return n < most ? static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n))) : most;
}

// Columns that a thread reads at once.
int64_t vector_of(int64_t columns) {
  if (columns % 4 == 0) return 4;
  return columns % 2 == 0 ? 2 : 1;
}

}  // namespace

int64_t reduction_workspace(int64_t rows, int64_t columns, const Device& device,
                            int64_t accumulator) {
  if (rows < 1 || columns < 1 || device.sms < 1) return 0;
  const int64_t vector = vector_of(columns), threads = kThreads / vector;
  const int64_t across = power_of_two_up_to(columns / vector, threads);
  const int64_t down = power_of_two_up_to(rows, threads);
  int64_t width = std::min(across, kWarp);
  const int64_t height = std::min(down, threads / width);
  width = std::min(across, threads / height);
  // Warps of a block share a column where that leaves each thread enough.
  if (rows < std::min(height * kLeastValues, kMostValues)) return 0;
  const int64_t values = ceil_divide(rows, height);
  const int64_t blocks = ceil_divide(columns / vector, width);
  const int64_t room =
      device.sms * (resident_threads(device.compute_capability) / (width * height));
  if (values < kMostValues || blocks > room) return 0;
  const int64_t parts =
      std::max(std::min(ceil_divide(room, blocks), ceil_divide(values, kLeastValues)),
               ceil_divide(values, kMostValues));
  return parts > 1 ? accumulator * columns * parts * width * vector : 0;
}

}  // namespace plimsoll
