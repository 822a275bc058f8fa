#include "graph/eager/activation_stash.h"

#include "tests/support/parallel_step.h"

namespace plimsoll {
namespace {

// Eight layers whose activations are 4 KiB each.
std::string chain() {
  std::string text = "opset 17\ninput x0: f32[16,64]\n";
  for (int i = 0; i < 8; ++i) text += fmt::format("param w{}: f32[64,64]\n", i);
  for (int i = 0; i < 8; ++i)
    text += fmt::format("m{0} = MatMul(x{0}, w{0})\nx{1} = Tanh(m{0})\n", i, i + 1);
  return text + "output x8\n";
}
constexpr int64_t kActivation = 16 * 64 * 4;

test::ParallelStep step_of(bool offloads) {
  Recipe recipe;
  recipe.loss = Loss::kSum;
  recipe.parallel.offload.activations = offloads;
  return test::ParallelStep(recipe, chain());
}

}  // namespace

TEST_CASE("activation offload: what layers keep goes and comes, but what is there still") {
  const test::ParallelStep s = step_of(true);
  // Each tanh keeps its result, which the next product keeps too: that stays, of all but the last
  // the copies are made all the same.
  CHECK(s.count(CollectiveKind::kToHost) > 0);
  CHECK(s.count(CollectiveKind::kFromHost) < s.count(CollectiveKind::kToHost));
  for (size_t i = 0; i < s.step.collectives.size(); ++i)
    CHECK(s.bound.collective_bytes[i] == kActivation);
}

TEST_CASE("activation offload: weights do not go") {
  const test::ParallelStep s = step_of(true);
  for (const int64_t bytes : s.bound.collective_bytes) CHECK(bytes != 64 * 64 * 4);
}

TEST_CASE("activation offload: without it nothing is copied") {
  CHECK(step_of(false).step.collectives.empty());
}

}  // namespace plimsoll
