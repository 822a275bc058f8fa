// A model whose weights, gradients and states are sharded, from compiling it to what a card shows.
#include <doctest/doctest.h>

#include "estimator/behaviour/autograd.h"
#include "estimator/model/model_cache.h"
#include "estimator/request/find_platform.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

constexpr int64_t kRanks = 8;

Estimate sharded_estimate(const Request& request, Sharded what) {
  auto platform = find_platform(test::hwdb(), request, request.devices.front());
  REQUIRE(platform);
  Recipe recipe = recipe_for(*platform, request.recipe);
  recipe.parallel.mesh.extent(Axis::kData) = 1;
  recipe.parallel.mesh.extent(Axis::kShard) = kRanks;
  recipe.parallel.sharded = what;
  const Policy policy = policy_for(*platform, request);
  const auto evaluator = Evaluator::make(std::move(*platform), request);
  REQUIRE(evaluator);
  ModelCache models;
  const auto entry = models.at(request, recipe, policy, {{"batch", *request.batch}});
  REQUIRE(entry);
  const CompiledModel& model = (*entry)->model;
  auto estimate = evaluator->estimate(model, binding_at(model, {{"batch", *request.batch}}));
  REQUIRE(estimate);
  return std::move(*estimate);
}

double parts(int64_t bytes, int64_t whole) {
  return static_cast<double>(bytes) * kRanks / static_cast<double>(whole);
}

}  // namespace

// Weights 4 P / N, gradients 4 P / N, states of Adam 8 P / N; rounded up by a row of each
// tensor at most (torch/distributed/fsdp/_fully_shard/_fsdp_param.py).
TEST_CASE("sharded plan: what stays is a part, what a unit takes comes and goes") {
  Request request = test::request("builtin:gpt2", "a100-sxm-80gb", 2);
  request.recipe.optimizer = find_optimizer("adam");
  request.gpu_count = kRanks;
  request.link = "nvlink-3";
  const Estimate replicated = test::answer(request);
  const MemoryEstimate& whole = replicated.memory;
  const Estimate sharded = sharded_estimate(request, Sharded::kWeights);
  const MemoryEstimate& part = sharded.memory;
  CHECK(parts(part.parameter_bytes, whole.parameter_bytes) == doctest::Approx(1).epsilon(1e-3));
  CHECK(part.parameter_bytes * kRanks >= whole.parameter_bytes);
  CHECK(part.optimizer_state_bytes == 2 * part.parameter_bytes);
  CHECK(part.gradient_bytes == part.parameter_bytes);
  CHECK(part.reserved_bytes < whole.reserved_bytes);
  CHECK(part.saved_bytes == whole.saved_bytes);
  CHECK(sharded.time.communication_ns > 0);
  const Estimate states = sharded_estimate(request, Sharded::kStates);
  CHECK(states.memory.parameter_bytes == whole.parameter_bytes);
  CHECK(states.memory.gradient_bytes == whole.gradient_bytes);
  CHECK(states.memory.optimizer_state_bytes == part.optimizer_state_bytes);
  CHECK(states.memory.reserved_bytes < whole.reserved_bytes);
  CHECK(part.reserved_bytes < states.memory.reserved_bytes);
}

// Chowdhery et al., PaLM, arXiv:2204.02311, appendix B: of a model's operations, nothing masked.
TEST_CASE("sharded plan: model flop utilisation is the same share of the pace, however shared") {
  const auto of_pace = [](int64_t contexts) {
    Request request = test::request("hf:meta-llama/Llama-3.2-1B", "h100-sxm-80gb", 1);
    request.dims["sequence"] = 4096;
    request.gpu_count = 4;
    request.parallel.axes[static_cast<size_t>(Axis::kContext)] = contexts;
    const Estimate e = test::answer(request);
    REQUIRE(e.time.mfu);
    return *e.time.mfu / e.time.samples_per_second;
  };
  const double replicated = of_pace(0);
  CHECK(of_pace(2) == doctest::Approx(replicated).epsilon(1e-6));
  CHECK(of_pace(4) == doctest::Approx(replicated).epsilon(1e-6));
}

// Korthikanti et al., arXiv:2205.05198, 5: hardware operations are those with recomputation.
TEST_CASE("sharded plan: hardware flop utilisation counts what is computed again") {
  Request request = test::request("hf:meta-llama/Llama-3.2-1B", "h100-sxm-80gb", 1);
  request.dims["sequence"] = 4096;
  const auto executed_of_needed = [&](const char* checkpoint) {
    request.recipe.checkpoint = checkpoint;
    const Estimate e = test::answer(request);
    REQUIRE(e.time.hfu);
    return *e.time.hfu / *e.time.mfu;
  };
  const double plain = executed_of_needed("none");  // the scores of attention alone
  CHECK(plain > 1);
  CHECK(plain < 1.06);
  // Blocks go forward once more: a third of their operations, the head's not.
  CHECK(executed_of_needed("blocks") > plain + .2);
  CHECK(executed_of_needed("blocks") < plain + 1. / 3);
}

// 405 billion weights: what a step consists of, its distinct events, does not grow with the ranks
// along an axis, nor with the micro-batches of a schedule's steady part.
TEST_CASE("sharded plan: a step is as long on 16,384 GPUs as on 128") {
  const auto events = [](int64_t machines, int64_t micro_batches) {
    Request request = test::request("hf:llama-3.1-405b", "h100-sxm-80gb", 1);
    request.nodes = machines;
    request.gpu_count = 8 * machines;
    request.network = "infiniband-ndr";
    request.parallel.fsdp = true;
    request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 8;
    request.parallel.axes[static_cast<size_t>(Axis::kStage)] = 8;
    request.recipe.accumulate = micro_batches;
    const auto platform = find_platform(test::hwdb(), request, request.devices.front());
    REQUIRE(platform);
    const auto model = compile(request, *platform);
    REQUIRE(model);
    return model->step.events.size();
  };
  CHECK(events(2048, 32) <= events(16, 32));
  CHECK(events(16, 512) == events(16, 32));
}

}  // namespace plimsoll
