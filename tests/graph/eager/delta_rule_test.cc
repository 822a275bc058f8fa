// What goldens of whole models (memory/family_steps.json) do not reach: lengths, and passes that
// keep nothing.
#include "graph/eager/delta_rule.h"

#include <doctest/doctest.h>

namespace plimsoll::eager {
namespace {

struct Figures {
  int64_t flop = 0, launches = 0;
  size_t events = 0;
};

// A forward pass over `steps` positions, with or without gradients.
Figures pass_over(int64_t steps, bool trained) {
  Recipe recipe;
  Policy policy;
  Decider decider{Binding{}};
  Machine machine{recipe, policy, decider};
  const auto made = [&](const Shape& sizes) {
    return trained ? machine.parameter(DType::kFloat32, sizes)
                   : machine.resident(DType::kFloat32, sizes, Role::kInput);
  };
  gated_delta_rule(machine, {.query = made({2, steps, 2, 16}),
                             .key = made({2, steps, 2, 16}),
                             .value = made({2, steps, 4, 32}),
                             .decay = made({2, steps, 4}),
                             .beta = made({2, steps, 4})});
  Figures figures;
  const Step step = machine.finish();
  for (const Event& e : step.events) {
    if (e.kind != Event::Kind::kLaunch) continue;
    figures.flop += step.kernels[e.id].flop.constant().value_or(0);
    figures.launches += step.kernels[e.id].turns.constant().value_or(0);
  }
  figures.events = step.events.size();
  return figures;
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
