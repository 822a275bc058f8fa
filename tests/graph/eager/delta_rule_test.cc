// What goldens of whole models (memory/family_steps.json) do not reach: lengths, and passes that
// keep nothing.
#include "graph/eager/delta_rule.h"

#include <doctest/doctest.h>

#include "tests/support/eager_pass.h"

namespace plimsoll::eager {
namespace {

struct Figures : test::KernelWork {
  size_t events = 0;
};

// A forward pass over `steps` positions, with or without gradients.
Figures pass_over(int64_t steps, bool trained) {
  test::EagerPass pass(trained);
  gated_delta_rule(pass.machine, {.query = pass.made({2, steps, 2, 16}),
                                  .key = pass.made({2, steps, 2, 16}),
                                  .value = pass.made({2, steps, 4, 32}),
                                  .decay = pass.made({2, steps, 4}),
                                  .beta = pass.made({2, steps, 4})});
  const Step step = pass.machine.finish();
  return {test::work_of(step), step.events.size()};
}

}  // namespace

TEST_CASE("delta rule: without gradients one chunk stands for those that are like it") {
  const Figures all = pass_over(20 * 64, true), alike = pass_over(20 * 64, false);
  CHECK(alike.flop == all.flop);
  CHECK(alike.launches == all.launches);
  CHECK(alike.events < all.events / 3);
  CHECK(pass_over(200 * 64, false).events == alike.events);
}

TEST_CASE("delta rule: a sequence counts in whole chunks of 64") {
  const Figures one = pass_over(64, false), more = pass_over(65, false),
                two = pass_over(128, false);
  CHECK(one.launches < more.launches);
  CHECK(more.launches <= two.launches);  // what is padded lies in order: products copy less
  CHECK(more.flop > one.flop + (two.flop - one.flop) * 9 / 10);
}

}  // namespace plimsoll::eager
