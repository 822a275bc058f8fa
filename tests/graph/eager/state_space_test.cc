// What goldens of whole models (memory/family_steps.json) do not reach: lengths, and what grows
// with them.
#include "graph/eager/state_space.h"

#include <doctest/doctest.h>

#include "tests/support/eager_pass.h"

namespace plimsoll::eager {
namespace {

struct ScanFigures : test::KernelWork {
  int64_t saved = 0;
};

// A pass over `steps` positions in chunks of 32: 4 heads of 16 features in 2 groups, states of 8.
ScanFigures scan_over(int64_t steps, bool trained) {
  test::EagerPass pass(trained);
  {
    const Value y = state_space_scan(pass.machine,
                                     {.x = pass.made({2, steps, 4, 16}),
                                      .dt = pass.made({2, steps, 4}),
                                      .decay = pass.made({4}),
                                      .b = pass.made({2, steps, 2, 8}),
                                      .c = pass.made({2, steps, 2, 8}),
                                      .skip = pass.made({4}),
                                      .dt_offsets = pass.made({4})},
                                     32);
    CHECK(y.sizes() == Shape{2, steps, 4, 16});
    CHECK(y.dtype() == DType::kFloat32);
    pass.machine.mark_end_of_forward();
  }
  const Step step = pass.machine.finish();
  ScanFigures figures{test::work_of(step)};
  for (const auto& one : step.saved)
    figures.saved += step.buffers[one.buffer].bytes.constant().value_or(0);
  return figures;
}

}  // namespace

TEST_CASE("state space scan: a sequence counts in whole chunks") {
  const ScanFigures one = scan_over(32, false), more = scan_over(33, false),
                    two = scan_over(64, false);
  CHECK(more.flop > one.flop + (two.flop - one.flop) * 9 / 10);
  CHECK(more.flop <= two.flop);
  CHECK(scan_over(320, false).launches == two.launches);  // no loop over chunks or positions
}

TEST_CASE("state space scan: what is kept grows with the sequence, nothing without gradients") {
  const int64_t short_one = scan_over(32 * 8, true).saved,
                long_one = scan_over(32 * 16, true).saved;
  CHECK(long_one > short_one * 19 / 10);
  CHECK(long_one < short_one * 21 / 10);
  CHECK(scan_over(32 * 8, false).saved == 0);
}

}  // namespace plimsoll::eager
