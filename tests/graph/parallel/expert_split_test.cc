// Experts that ranks share: whose weights they are, what is sent, and who is refused.
#include "graph/parallel/expert_split.h"

#include <doctest/doctest.h>

#include <string>

#include "estimator/evaluator.h"
#include "estimator/request/find_platform.h"
#include "graph/base/setting.h"
#include "tests/support/requests.h"
#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

// Four experts of 32 x 64, of which each of 128 tokens runs through two.
constexpr std::string_view kExperts = R"({
  "schema": "plimsoll.model-config", "version": 1, "name": "experts",
  "parameters": {"batch": 128},
  "inputs": [{"name": "x", "shape": ["batch", 32]}],
  "layers": [
    {"name": "layers", "type": "repeat", "count": 2, "layers": [
      {"name": "gate", "type": "router", "experts": 4, "chosen": 2},
      {"name": "experts", "type": "experts", "experts": 4, "inner": 64,
       "inputs": ["input", "gate", "gate:1"]}]},
    {"name": "head", "type": "linear", "out": 8}]})";

Result<CompiledModel> compiled_with(int64_t experts, int64_t data, double capacity = 0) {
  const test::Scratch scratch;
  Request request =
      test::request(scratch.write("model.json", std::string(kExperts)), "h100-sxm-80gb", 128);
  request.gpu_count = experts * data;
  request.parallel.axes[static_cast<size_t>(Axis::kExpert)] = experts;
  request.parallel.capacity = capacity;
  const auto platform = find_platform(test::hwdb(), request, request.devices.front());
  if (!platform) return tl::make_unexpected(platform.error());
  return compile(request, *platform);
}

int64_t bytes_of(const CompiledModel& model, Role role) {
  int64_t sum = 0;
  for (const Buffer& buffer : model.step.buffers) {
    if (buffer.role == role && buffer.resident) sum += buffer.bytes.evaluate(model.binding).value();
  }
  return sum;
}

int64_t bytes_along(const CompiledModel& model, Axis axis, bool joined) {
  int64_t sum = 0;
  for (const Collective& c : model.step.collectives) {
    if (c.axis == axis && c.joined == joined) sum += c.bytes.evaluate(model.binding).value();
  }
  return sum;
}

constexpr int64_t kOneLayer = 4 * (2 * 64 * 32 + 32 * 64) * 4;  // bytes of its experts
constexpr int64_t kOthers = 4 * (2 * 4 * 32 + 8 * 32 + 8);

}  // namespace

TEST_CASE("expert split: a rank has its experts' weights, states with them, and all others") {
  const auto whole = compiled_with(1, 2), parts = compiled_with(2, 1);
  REQUIRE(whole);
  REQUIRE_MESSAGE(parts, parts.error().front().message);
  CHECK(bytes_of(*whole, Role::kParameter) == 2 * kOneLayer + kOthers);
  CHECK(bytes_of(*parts, Role::kParameter) == kOneLayer + kOthers);
  CHECK(bytes_of(*parts, Role::kOptimizerState) == kOneLayer + kOthers);
}

// The gradient of the first layer, which the input does not want, is not sent back.
TEST_CASE("expert split: tokens are sent twice a layer each way") {
  const auto parts = compiled_with(4, 1), padded = compiled_with(4, 1, 1.5);
  REQUIRE(parts);
  REQUIRE(padded);
  CHECK(bytes_along(*parts, Axis::kExpert, false) == 7 * (128 * 2 * 32 * 4));
  CHECK(bytes_along(*padded, Axis::kExpert, false) == 7 * (128 * 2 * 3 / 2 * 32 * 4));
  CHECK(padded->step.buffers.size() > parts->step.buffers.size());
}

TEST_CASE("expert split: those that have the same experts sum their gradients, all sum the rest") {
  const auto parts = compiled_with(2, 2);
  REQUIRE(parts);
  CHECK(bytes_along(*parts, Axis::kData, false) == kOneLayer);
  CHECK(bytes_along(*parts, Axis::kData, true) == kOthers);
  CHECK(parts->recipe.parallel.mesh.replicas() == 4);
  const auto own = compiled_with(4, 1);
  REQUIRE(own);
  CHECK(bytes_along(*own, Axis::kData, false) == 0);
  CHECK(bytes_along(*own, Axis::kShard, true) == kOthers);
}

TEST_CASE("expert split: ranks that do not divide experts are refused with those that do") {
  const auto refused = compiled_with(3, 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "E120");
  CHECK(refused.error().front().help.find(setting("ep", "2")) != std::string::npos);
  Request dense = test::request("builtin:gpt2", "a100-sxm-40gb", 1);
  dense.gpu_count = dense.parallel.axes[static_cast<size_t>(Axis::kExpert)] = 2;
  const auto none = estimate_once(dense, test::hwdb());
  REQUIRE_FALSE(none);
  CHECK(none.error().front().message.find("no layers of experts") != std::string::npos);
}

}  // namespace plimsoll
