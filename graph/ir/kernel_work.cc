#include "graph/ir/kernel_work.h"

#include <algorithm>

namespace plimsoll {
namespace {

struct Operands {
  int64_t flop = 0;
  int64_t x = 0, w = 0, y = 0;  // elements: of what goes in, of the weights, of what comes out
};

int64_t volume(const std::array<int64_t, 3>& extents) {
  return extents[0] * extents[1] * extents[2];
}

int64_t gates(Cell cell) { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }

Operands operands(const ConvProblem<int64_t>& p) {
  const int64_t weights = p.k * (p.c / p.groups) * volume(p.filter);
  return {.flop = 2 * p.n * volume(p.out) * weights,
          .x = p.n * p.c * volume(p.in),
          .w = weights,
          .y = p.n * p.k * volume(p.out)};
}

Operands operands(const RecurrentProblem<int64_t>& p) {
  const int64_t first = p.hidden + (p.skip_input ? 0 : p.input);
  const int64_t further = p.hidden + p.directions * p.hidden;
  const int64_t weights =
      p.directions * gates(p.cell) * p.hidden * (first + (p.layers - 1) * further);
  const int64_t states = p.batch * p.timesteps;
  return {.flop = 2 * states * weights,
          .x = states * p.input,
          .w = weights,
          .y = states * p.directions * p.hidden};
}

// A pass makes one of three operands from the other two.
void set_passes(KernelAt& kernel, const Operands& o, int64_t element) {
  const int64_t written = kernel.pass == Pass::kBackwardData      ? o.x
                          : kernel.pass == Pass::kBackwardWeights ? o.w
                                                                  : o.y;
  kernel.flop = o.flop;
  kernel.written = element * written;
  kernel.read = element * (o.x + o.w + o.y - written);
}

}  // namespace

void set_work(KernelAt& kernel) {
  const int64_t element = std::max(bits(kernel.dtype), 8) / 8;
  if (const auto* conv = std::get_if<ConvProblem<int64_t>>(&kernel.problem)) {
    set_passes(kernel, operands(*conv), element);
  } else if (const auto* layers = std::get_if<RecurrentProblem<int64_t>>(&kernel.problem)) {
    set_passes(kernel, operands(*layers), element);
  } else if (const auto* p = std::get_if<GemmProblem<int64_t>>(&kernel.problem)) {
    kernel.flop = 2 * p->batch * p->m * p->n * p->k;
    kernel.written = element * p->batch * p->m * p->n;
    kernel.read =
        element * p->batch * (p->m * p->k + p->k * p->n) + (p->accumulate ? kernel.written : 0);
  }
}

}  // namespace plimsoll
