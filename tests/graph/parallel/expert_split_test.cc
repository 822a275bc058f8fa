// Experts that ranks share: whose weights they are, what is sent, and who is refused.
#include "graph/parallel/expert_split.h"

#include <doctest/doctest.h>

#include <functional>
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

Result<CompiledModel> compiled_with(int64_t experts, int64_t data, double capacity = 0,
                                    const std::function<void(Request&)>& more = {}) {
  const test::Scratch scratch;
  Request request =
      test::request(scratch.write("model.json", std::string(kExperts)), "h100-sxm-80gb", 128);
  request.gpu_count = experts * data;
  request.parallel.axes[static_cast<size_t>(Axis::kExpert)] = experts;
  request.parallel.capacity = capacity;
  if (more) more(request);
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

Result<CompiledModel> sharded_with(int64_t experts, int64_t data, int64_t version = 2,
                                   const char* precision = "fp32") {
  return compiled_with(experts, data, 0, [&](Request& request) {
    request.parallel.fsdp = true;
    request.parallel.fsdp_version = version;
    request.recipe.precision = find_precision(precision);
  });
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

// Four ranks share what is no expert; of each expert, two do.
TEST_CASE(
    "expert split: what is sharded of experts is so among the ranks that have the same ones") {
  for (const int64_t version : {1, 2}) {
    CAPTURE(version);
    const auto parts = sharded_with(2, 2, version);
    REQUIRE_MESSAGE(parts, parts.error().front().message);
    CHECK(bytes_of(*parts, Role::kParameter) == 2 * kOneLayer / 4 + kOthers / 4);
    CHECK(bytes_of(*parts, Role::kOptimizerState) == 2 * kOneLayer / 4 + kOthers / 4);
    // Two layers are gathered twice, in each pass, and their gradients summed.
    CHECK(bytes_along(*parts, Axis::kShard, false) == 3 * kOneLayer);
    CHECK(bytes_along(*parts, Axis::kExpert, false) == 7 * (128 * 2 * 32 * 4));
  }
}

// torchtitan: rows of each expert, so that no rank has nothing but padding.
TEST_CASE(
    "expert split: where more ranks have an expert than it has beside it they part its rows") {
  const auto parts = sharded_with(2, 4);
  REQUIRE_MESSAGE(parts, parts.error().front().message);
  constexpr int64_t kOneRow = 32 * 4;  // of two routers and of the head, which has an offset
  CHECK(bytes_of(*parts, Role::kParameter) == 2 * kOneLayer / 8 + 3 * kOneRow + 4);
}

// A mesh of one rank: weights are copied to be computed with, as those that others have a part of.
TEST_CASE("expert split: experts that no other rank has are kept in 32 bits too") {
  const auto own = sharded_with(2, 1, 2, "mixed-bf16");
  REQUIRE_MESSAGE(own, own.error().front().message);
  CHECK(bytes_of(*own, Role::kParameter) == kOneLayer + kOthers / 2);
  CHECK(bytes_along(*own, Axis::kShard, false) == 0);
}

TEST_CASE("expert split: stage 2 of ZeRO parts states of experts among those that have them") {
  const auto parts = compiled_with(2, 2, 0, [](Request& r) { r.parallel.zero = 2; });
  REQUIRE_MESSAGE(parts, parts.error().front().message);
  CHECK(bytes_of(*parts, Role::kParameter) == kOneLayer + kOthers);
  CHECK(bytes_of(*parts, Role::kOptimizerState) == 2 * kOneLayer / 4 + kOthers / 4);
  // Gradients of one rank's experts are summed, and the updated weights gathered.
  CHECK(bytes_along(*parts, Axis::kShard, false) == 2 * kOneLayer);
}

TEST_CASE("expert split: stage 3 of ZeRO has no experts that ranks share") {
  const auto refused = compiled_with(2, 2, 0, [](Request& r) { r.parallel.zero = 3; });
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "E120");
  CHECK(refused.error().front().help.find(setting("fsdp")) != std::string::npos);
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
