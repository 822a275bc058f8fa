// Ranks that cannot share a network are refused with the nearest number that can.
#include "graph/parallel/split_check.h"

#include <doctest/doctest.h>

#include <string>

#include "estimator/estimator.h"
#include "graph/base/setting.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

// GPT-2, whose twelve heads so many ranks share; the first message, or nothing.
std::string refusal(int64_t ranks, FinetuneKind kind = FinetuneKind::kFull) {
  Request request = test::request("builtin:gpt2", "a100-sxm-40gb", 1);
  request.gpu_count = ranks;
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = ranks;
  request.recipe.finetune.kind = kind;
  const auto answered = estimate_once(request, test::hwdb());
  if (answered) return {};
  CHECK(answered.error().front().code == "E120");
  return answered.error().front().message + "; " + answered.error().front().help;
}

}  // namespace

TEST_CASE("split check: ranks that divide the heads, and those that do not") {
  CHECK(refusal(1).empty());
  CHECK(refusal(4).empty());
  CHECK(refusal(5).find(setting("tp", "4")) != std::string::npos);
  CHECK(refusal(8).find(setting("tp", "6")) != std::string::npos);
}

TEST_CASE("split check: adapters are whole on each rank, and refused") {
  CHECK(refusal(1, FinetuneKind::kLora).empty());
  CHECK(refusal(4, FinetuneKind::kLora).find("adapters") != std::string::npos);
}

TEST_CASE("split check: experts are not split, and shared by another axis") {
  Request request = test::request("hf:mistralai/Mixtral-8x7B-v0.1", "h100-sxm-80gb", 1);
  request.gpu_count = 2;
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 2;
  const auto answered = estimate_once(request, test::hwdb());
  REQUIRE(!answered);
  CHECK(answered.error().front().code == "E120");
  CHECK(answered.error().front().message.find("experts") != std::string::npos);
  CHECK(answered.error().front().help.find(setting("ep")) != std::string::npos);
}

}  // namespace plimsoll
