// Single blocks as stages of their own add up to the whole network.
#include "estimator/app/search/block_price.h"

#include <doctest/doctest.h>

#include "tests/support/requests.h"

namespace plimsoll {
namespace {

constexpr int64_t kBlocks = 12;  // of GPT-2

Request of_gpt2() {
  Request request = test::request("builtin:gpt2", "a100-sxm-40gb", 1);
  request.dims["sequence"] = 256;
  request.recipe.optimizer = find_optimizer("adamw");
  return request;
}

const BlockSettings kOne{};

}  // namespace

TEST_CASE("block price: stages of blocks hold what stages of a pipeline hold") {
  const Request request = of_gpt2();
  BlockPrices prices(request, test::hwdb(), kBlocks);
  REQUIRE(prices.begin(kOne));
  CHECK(prices.blocks() == kBlocks);
  const BlockSettings wanted[] = {kOne};
  prices.add(wanted, 1);
  const NetworkPrice* network = prices.find(kOne);
  REQUIRE(network);
  for (const int64_t stages : {1, 3}) {
    for (int64_t stage = 0; stage < stages; ++stage) {
      CAPTURE(stages);
      CAPTURE(stage);
      Request one = with_plan(request, {.stages = stages});
      one.gpu_count = stages;
      one.parallel.rank = stage;
      const auto e = estimate_once(one, test::hwdb());
      REQUIRE(e);
      const BlockPrice sum = network->stage(stage, stages);
      CHECK(sum.weights == e->memory.parameter_bytes);
      CHECK(sum.gradients == e->memory.gradient_bytes);
      CHECK(sum.gradients == sum.weights);
      CHECK(sum.states == e->memory.optimizer_state_bytes);
      CHECK(sum.saved == e->memory.saved_bytes);
    }
  }
  // The table of words is the head's matrix too, and stands on both ends of a pipeline.
  CHECK(network->twice.weights == 50257 * 768 * 4);
}

TEST_CASE("block price: what the model cannot be split into is said") {
  BlockPrices prices(of_gpt2(), test::hwdb(), kBlocks);
  REQUIRE(prices.begin(kOne));
  const BlockSettings wanted[] = {{.tensor = 8}};
  prices.add(wanted, 1);
  CHECK(prices.find(wanted[0]) == nullptr);  // of 12 heads
  CHECK(prices.refusals().size() == 1);
}

TEST_CASE("block price: a network without repeated blocks is one block") {
  Request request = test::request("builtin:alexnet", "a100-sxm-40gb", 8);
  BlockPrices prices(request, test::hwdb(), 1);
  REQUIRE(prices.begin(kOne));
  CHECK(prices.blocks() == 1);
  CHECK(prices.batch() == 8);
  const BlockSettings wanted[] = {kOne};
  prices.add(wanted, 1);
  REQUIRE(prices.find(kOne));
  CHECK(prices.find(kOne)->stage(0, 1).weights == test::answer(request).memory.parameter_bytes);
}

}  // namespace plimsoll
