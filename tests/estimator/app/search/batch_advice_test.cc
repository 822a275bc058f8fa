// Where no batch is safe: what makes one fit is what estimates with those changes say.
#include "estimator/app/search/batch_advice.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "estimator/app/report/largest_batch.h"
#include "estimator/app/report/spelling.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

LargestBatch advised(const Request& request) {
  auto largest = largest_batch(request, test::hwdb());
  REQUIRE(largest);
  advise_batches(request, test::hwdb(), *largest);
  return *std::move(largest);
}

Request small_llama(const char* gpu) {
  Request request = test::request("hf:TinyLlama/TinyLlama-1.1B", gpu);
  request.dims["sequence"] = 1024;
  request.recipe.optimizer = find_optimizer("adamw");
  return request;
}

}  // namespace

TEST_CASE(
    "batch advice: of a model that is too large for the card, with the batch that then fits") {
  Request request = small_llama("gtx-1650");  // 4 GB
  const LargestBatch largest = advised(request);
  CHECK(largest.answer.safe == 0);
  REQUIRE_FALSE(largest.advice.empty());
  bool any = false;
  for (const BatchRemedy& r : largest.advice) {
    CAPTURE(r.remedy.settings);
    CHECK((r.safe > 0) == (r.remedy.verdict == Verdict::kFits));
    any |= r.safe > 0;
  }
  REQUIRE(any);
  CHECK(to_text(largest).find("what would help") != std::string::npos);
  CHECK(to_json(largest).find("\"advice\"") != std::string::npos);
  // The first of them as a request of its own.
  request.recipe.finetune.kind = FinetuneKind::kQlora;
  request.recipe.checkpoint = "blocks";
  const auto at = std::ranges::find_if(largest.advice, [](const BatchRemedy& r) {
    return spelled(r.remedy.settings) == "--finetune qlora --checkpoint blocks";
  });
  REQUIRE(at != largest.advice.end());
  const auto changed = largest_batch(request, test::hwdb());
  REQUIRE(changed);
  CHECK(changed->answer.safe == at->safe);
}

TEST_CASE("batch advice: of LoRA that is too large, weights in four bits") {
  Request request = small_llama("gtx-1650");
  request.recipe.finetune.kind = FinetuneKind::kLora;
  const auto quantizes = [](const BatchRemedy& r) {
    return spelled(r.remedy.settings).starts_with("--finetune qlora");
  };
  const LargestBatch largest = advised(request);
  CHECK(largest.answer.safe == 0);
  CHECK(std::ranges::any_of(largest.advice, quantizes));
  request.recipe.finetune.kind = FinetuneKind::kQlora;
  CHECK(std::ranges::none_of(advised(request).advice, quantizes));
}

TEST_CASE(
    "batch advice: none where a batch is safe, where lengths vary, and where nothing trains") {
  CHECK(advised(test::request("builtin:resnet50", "tesla-t4")).advice.empty());
  Request served = small_llama("gtx-1650");
  served.recipe.mode = Mode::kInference;
  CHECK(advised(served).advice.empty());
}

}  // namespace plimsoll
