#include "calibrate/pool_shape.h"

#include <cmath>

namespace plimsoll::calibrate {
namespace {

// 0 where it is no square.
int64_t root(int64_t square) {
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(square))));
  return side * side == square ? side : 0;
}

}  // namespace

std::optional<PoolShape> pool_shape(const KernelAt& kernel) {
  const auto* rows = std::get_if<RowsProblem<int64_t>>(&kernel.problem);
  const bool pool = kernel.op == "max_pool" || kernel.op == "average_pool";
  if (!rows || !pool || kernel.pass != Pass::kForward || rows->rows < 1) return std::nullopt;
  const int64_t y = rows->rows * rows->columns;
  const int64_t x = kernel.read / (bits(kernel.dtype) / 8);
  if (y < 1 || kernel.flop % y != 0 || x % rows->rows != 0) return std::nullopt;
  PoolShape p{.planes = rows->rows,
              .in = root(x / rows->rows),
              .out = root(rows->columns),
              .window = root(kernel.flop / y)};
  if (p.in < 1 || p.out < 1 || p.window < 1) return std::nullopt;
  for (p.stride = 1; p.stride <= p.in; ++p.stride) {
    for (p.pad = 0; 2 * p.pad <= p.window; ++p.pad) {
      const int64_t room = p.in + 2 * p.pad - p.window;
      if (room >= 0 && room / p.stride + 1 == p.out) return p;
    }
  }
  return std::nullopt;
}

}  // namespace plimsoll::calibrate
