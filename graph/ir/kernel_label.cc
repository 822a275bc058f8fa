#include "graph/ir/kernel_label.h"

#include <fmt/format.h>

#include <array>
#include <variant>

namespace plimsoll {
namespace {

std::string extents(const std::array<int64_t, 3>& e) {
  return e[0] > 1 ? fmt::format("{}x{}x{}", e[0], e[1], e[2]) : fmt::format("{}x{}", e[1], e[2]);
}

struct Describe {
  const KernelAt& kernel;
  std::string operator()(const RowsProblem<int64_t>& p) const {
    if (kernel.kernel_class == KernelClass::kUpdate)
      return fmt::format("{} {}x{}", kernel.op, p.rows, p.columns);
    return fmt::format("{} {} {}x{}", kernel.op, name(kernel.pass), p.rows, p.columns);
  }
  std::string operator()(const GemmProblem<int64_t>& p) const {
    return fmt::format("gemm {}{}x{}x{}", p.batch > 1 ? fmt::format("{} of ", p.batch) : "", p.m,
                       p.n, p.k);
  }
  std::string operator()(const ConvProblem<int64_t>& p) const {
    return fmt::format("conv {} {}x{}x{} -> {}, {}{}", name(kernel.pass), p.n, p.c, extents(p.in),
                       p.k, extents(p.filter),
                       p.groups > 1 ? fmt::format(" in {} groups", p.groups) : "");
  }
  std::string operator()(const PoolProblem<int64_t>& p) const {
    return fmt::format("{} {} {}x{}x{}, {}", kernel.op, name(kernel.pass), p.n, p.c, extents(p.in),
                       extents(p.window));
  }
  std::string operator()(const RecurrentProblem<int64_t>& p) const {
    return fmt::format("recurrent {} {} layers, {} steps, hidden {}", name(kernel.pass), p.layers,
                       p.timesteps, p.hidden);
  }
  std::string operator()(const AttentionProblem<int64_t>& p) const {
    return fmt::format("attention {} {}x{}, {}x{}, head {}", name(kernel.pass), p.batch, p.heads,
                       p.queries, p.keys, p.head_size);
  }
};

}  // namespace

std::string kernel_label(const KernelAt& kernel) {
  return std::visit(Describe{kernel}, kernel.problem);
}

}  // namespace plimsoll
