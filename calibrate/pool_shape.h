// PoolShape: a pool's geometry, from what a step tells of its kernel: planes, bytes, and how many
// numbers its windows hold.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/ir/kernel.h"

namespace plimsoll::calibrate {

struct PoolShape {
  int64_t planes = 1, in = 1, out = 1;  // extents of a square plane
  int64_t window = 1, stride = 1, pad = 0;
  bool operator==(const PoolShape&) const = default;
};

// Of a forward pass of max and average pools, the padding the least that makes the extents. Nothing
// where plane or window are not square, and of a backward pass, whose window nothing tells.
std::optional<PoolShape> pool_shape(const KernelAt& kernel);

}  // namespace plimsoll::calibrate
