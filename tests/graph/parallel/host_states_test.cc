#include "graph/parallel/host_states.h"

#include "tests/support/parallel_step.h"

namespace plimsoll {
namespace {

// A layer whose weights and bias are updated by the host, and one that is small.
constexpr std::string_view kLarge =
    "opset 17\ninput x: f32[8,64]\nparam a: f32[64,64]\nparam b: f32[64,8]\n"
    "h = MatMul(x, a)\ny = MatMul(h, b)\noutput y\n";
constexpr int64_t kHostCount = 64 * 64, kCardCount = 64 * 8;

Recipe states_on_host() {
  Recipe recipe;
  recipe.optimizer = find_optimizer("adam");
  recipe.parallel.offload.states = true;
  return recipe;
}

std::vector<int64_t> bytes_of(const test::ParallelStep& s, CollectiveKind kind) {
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < s.step.collectives.size(); ++i) {
    if (s.step.collectives[i].kind == kind) bytes.push_back(s.bound.collective_bytes[i]);
  }
  return bytes;
}

}  // namespace

TEST_CASE("host states: gradients go, new weights come, small ones stay on the card") {
  const test::ParallelStep s(states_on_host(), kLarge);
  CHECK(s.resident(Role::kParameter) == 4 * (kHostCount + kCardCount));
  CHECK(s.resident(Role::kOptimizerState) == 8 * kCardCount);
  CHECK(bytes_of(s, CollectiveKind::kToHost) == std::vector<int64_t>{4 * kHostCount});
  CHECK(bytes_of(s, CollectiveKind::kFromHost) == std::vector<int64_t>{4 * kHostCount});
  // Read: weight, gradient, two states; written: weight and states.
  CHECK(bytes_of(s, CollectiveKind::kOnHost) == std::vector<int64_t>{4 * 7 * kHostCount});
  int64_t host = 0;
  for (const int64_t bytes : s.bound.on_host_bytes) host += bytes;
  CHECK(host == 4 * 4 * kHostCount);  // weight, gradient, two states
}

TEST_CASE("host states: gradients stay on the card until they are set to none") {
  const test::ParallelStep there(states_on_host(), kLarge);
  Recipe recipe = states_on_host();
  recipe.parallel.offload = {};
  const test::ParallelStep here(recipe, kLarge);
  CHECK(there.timeline.gradient_bytes == here.timeline.gradient_bytes);
}

}  // namespace plimsoll
