// Ranks that cannot share a network are refused with the nearest number that can.
#include "graph/parallel/split_check.h"

#include <doctest/doctest.h>

#include <algorithm>
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

TEST_CASE("split check: heads that fewer ranks do not divide are told, with the nearest number") {
  Request request = test::request("hf:openai-community/gpt2-xl", "h100-sxm-80gb", 1);
  request.gpu_count = 2;
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 2;
  request.dims["sequence"] = 128;
  const auto answered = estimate_once(request, test::hwdb());
  REQUIRE(!answered);
  CHECK(answered.error().front().message.find("25 heads") != std::string::npos);
  CHECK(answered.error().front().help.find(setting("tp", "5")) != std::string::npos);
}

TEST_CASE("split check: ranks that share experts train adapters of other layers, not of theirs") {
  Request request = test::request("hf:mistralai/Mixtral-8x7B-v0.1", "h100-sxm-80gb", 1);
  request.gpu_count = 4;
  request.dims["sequence"] = 128;
  request.recipe.finetune.kind = FinetuneKind::kLora;
  request.recipe.finetune.targets = "q_proj,v_proj";
  request.parallel.axes[static_cast<size_t>(Axis::kExpert)] = 4;
  CHECK(estimate_once(request, test::hwdb()));
  request.recipe.finetune.targets = "all-linear";
  for (const Axis axis : {Axis::kExpert, Axis::kTensor}) {
    request.parallel.axes = {};
    request.parallel.axes[static_cast<size_t>(axis)] = 4;
    const auto answered = estimate_once(request, test::hwdb());
    REQUIRE(!answered);
    CHECK(answered.error().front().message.find("adapters of experts") != std::string::npos);
  }
}

TEST_CASE("split check: adapters are split with their layers, quantized weights are refused") {
  CHECK(refusal(4, FinetuneKind::kLora).empty());
  CHECK(refusal(1, FinetuneKind::kQlora).empty());
  CHECK(refusal(4, FinetuneKind::kQlora).find("quantized") != std::string::npos);
}

TEST_CASE("split check: experts are split by features, or given to ranks whole") {
  Request request = test::request("hf:mistralai/Mixtral-8x7B-v0.1", "h100-sxm-80gb", 1);
  request.gpu_count = 2;
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 2;
  request.dims["sequence"] = 128;
  CHECK(estimate_once(request, test::hwdb()));
  request.gpu_count = 4;
  request.parallel.axes[static_cast<size_t>(Axis::kExpert)] = 2;
  CHECK(estimate_once(request, test::hwdb()));  // some of the experts, split by features
}

TEST_CASE("split check: heads that norms over all of them leave whole are told") {
  Request request = test::request("hf:allenai/OLMo-2-1124-7B", "h100-sxm-80gb", 1);
  request.gpu_count = 2;
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 2;
  request.dims["sequence"] = 128;
  const auto answered = estimate_once(request, test::hwdb());
  REQUIRE(answered);
  const auto told = std::ranges::find(answered->diagnostics, "W360", &Diagnostic::code);
  REQUIRE(told != answered->diagnostics.end());
  CHECK(told->message.find("32 layers") != std::string::npos);
}

// Offsets of GPT-OSS's experts are picked for each row.
TEST_CASE("split check: experts that stay whole are told") {
  Request request = test::request("hf:openai/gpt-oss-20b", "h100-sxm-80gb", 1);
  request.gpu_count = 2;
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 2;
  request.dims["sequence"] = 128;
  const auto answered = estimate_once(request, test::hwdb());
  REQUIRE(answered);
  const auto told = std::ranges::find(answered->diagnostics, "W358", &Diagnostic::code);
  REQUIRE(told != answered->diagnostics.end());
  CHECK(told->message.find("24 layers") != std::string::npos);
}

// Of Qwen 3's 8.2 billion parameters all but its tables of words and norms are stored in few bits.
TEST_CASE("split check: engines split quantized weights that are served, with their scales") {
  const auto weights = [](int64_t ranks, std::string_view form) {
    Request request = test::request("hf:Qwen/Qwen3-8B", "a100-sxm-80gb", 1);
    request.gpu_count = ranks;
    request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = ranks;
    request.recipe.mode = Mode::kInference;
    request.recipe.finetune.quantize = find_quantization(form);
    request.dims["sequence"] = 128;
    const auto answered = estimate_once(request, test::hwdb());
    return answered ? answered->memory.parameter_bytes : 0;
  };
  for (const char* form : {"gptq-4bit", "fp8"}) {
    CAPTURE(form);
    const int64_t whole = weights(1, form), half = weights(2, form);
    REQUIRE(half > 0);
    // Norms are whole on each rank: 1.2 MiB of them.
    CHECK(half == doctest::Approx(static_cast<double>(whole) / 2).epsilon(.001));
  }
  CHECK(weights(1, "nf4") > 0);
  CHECK(weights(2, "nf4") == 0);
  CHECK(weights(2, "int8") == 0);
}

}  // namespace plimsoll
