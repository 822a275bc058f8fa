// The largest sequence and image: what the search says, estimates at those sizes say.
#include "estimator/app/search/largest_batch.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "estimator/app/search/batch_memory.h"
#include "tests/support/requests.h"
#include "tests/support/scratch.h"

using namespace plimsoll;

namespace {

Verdict verdict_at(const Request& request, const std::string& vary, int64_t size) {
  return test::answer(at_size(request, vary, size)).memory.verdict;
}

// Those at the ends of its zones, against an estimate of each.
void check_ends(const Request& request, const BatchSearch& search, const LargestBatch& found) {
  const MaxBatchAnswer& a = found.answer;
  const std::string vary = search.vary;
  CAPTURE(vary);
  CAPTURE(a.safe);
  CAPTURE(a.last_may_fit);
  REQUIRE(a.safe > 0);
  CHECK(a.safe % search.multiple == 0);
  CHECK(verdict_at(request, vary, a.safe) == Verdict::kFits);
  if (a.last_may_fit > a.safe) {
    CHECK(verdict_at(request, vary, a.first_may_fit) == Verdict::kMayFit);
    CHECK(verdict_at(request, vary, a.last_may_fit) != Verdict::kDoesNotFit);
  }
  if (a.last_may_fit < a.searched_to)
    CHECK(verdict_at(request, vary, a.last_may_fit + search.multiple) == Verdict::kDoesNotFit);
}

}  // namespace

TEST_CASE("largest: a sequence at a batch, up to where memory ends") {
  const Request request = test::request("builtin:transformer-base", "tesla-t4", 8);
  const auto found = largest_batch(request, test::hwdb(), {.vary = "source", .multiple = 64});
  REQUIRE_MESSAGE(found, found.error().front().message);
  check_ends(request, {.vary = "source", .multiple = 64}, *found);
  CHECK(found->batch == 8);
  CHECK(found->vary == "source");
  CHECK(found->as_fast == 0);
  REQUIRE(found->rounds.size() >= 6);
  for (size_t i = 1; i < found->rounds.size(); ++i) {
    CHECK(found->rounds[i].memory.device_bytes > found->rounds[i - 1].memory.device_bytes);
    CHECK(found->rounds[i].step_ns > found->rounds[i - 1].step_ns);
  }
}

TEST_CASE("largest: of a pipeline, what fits on each of its stages") {
  Request request = test::request("builtin:gpt2", "rtx-3060", 1);
  request.dims["sequence"] = 128;
  request.recipe.accumulate = 4;
  request.gpu_count = 2;
  request.parallel.axes[static_cast<size_t>(Axis::kStage)] = 2;
  request.memory_bytes = int64_t{4} << 30;
  const auto found = largest_batch(request, test::hwdb(), {.rounds = 1});
  REQUIRE(found);
  check_ends(request, {}, *found);
  const RoundBatch& round = found->rounds.back();
  Request same = request;
  same.batch = round.memory.batch;
  const Estimate e = test::answer(same);
  CHECK(round.memory.device_bytes == e.memory.device_bytes);
  CHECK(round.step_ns == e.time.step_ns);
  // The last stage, which has the head, decides; the first would take more.
  request.given = {"rank"};
  const auto first = largest_batch(request, test::hwdb(), {.rounds = 0});
  REQUIRE(first);
  CHECK(first->answer.safe > found->answer.safe);
}

TEST_CASE("largest: an image at a batch, of multiples") {
  const Request request = test::request("builtin:resnet50", "tesla-t4", 16);
  const BatchSearch search{.vary = "image", .multiple = 32};
  const auto found = largest_batch(request, test::hwdb(), search);
  REQUIRE_MESSAGE(found, found.error().front().message);
  check_ends(request, search, *found);
  CHECK(found->batch == 16);
}

TEST_CASE("largest: a model's table of positions ends the search, and it is said") {
  const Request request = test::request("builtin:vit_b_16", "h200", 1);
  const BatchSearch search{.vary = "image", .multiple = 16};
  const auto found = largest_batch(request, test::hwdb(), search);
  REQUIRE_MESSAGE(found, found.error().front().message);
  CHECK(found->answer.safe == 224);  // 14 patches of 16 a side
  CHECK(found->answer.searched_to == 224);
  REQUIRE(!found->notes.diagnostics.empty());
  CHECK(found->notes.diagnostics.back().code == "N524");
  CHECK(found->notes.diagnostics.back().message.find("with image 240") != std::string::npos);
}

TEST_CASE("largest: a size that the model does not have is an error") {
  const auto code = [](const char* model, const std::string& vary) {
    const auto found =
        largest_batch(test::request(model, "tesla-t4", 8), test::hwdb(), {.vary = vary});
    return found ? "" : found.error().front().code;
  };
  CHECK(code("builtin:resnet50", "sequence") == "E113");
  CHECK(code("builtin:transformer-base", "image") == "E113");
}

TEST_CASE("largest sequence: the search begins where a model with short tables runs") {
  for (const int64_t rows : {64, 16, 3}) {
    CAPTURE(rows);
    const test::Scratch scratch;
    Request asked = test::request(
        scratch.write("m.json",
                      fmt::format(R"({{"schema": "plimsoll.model-config", "version": 1, "name": "n",
           "parameters": {{"batch": 2, "sequence": {0}}},
           "inputs": [{{"name": "ids", "dtype": "i64", "shape": ["batch", "sequence"]}}],
           "layers": [{{"name": "words", "type": "embedding", "vocabulary": 100, "size": 16}},
                      {{"name": "places", "type": "position", "positions": {0}}},
                      {{"name": "out", "type": "linear", "out": 4}}], "loss": "sum"}})",
                                  rows)),
        "t4");
    const auto found = largest_batch(asked, test::hwdb(), {.vary = "sequence"});
    REQUIRE(found);
    CHECK(found->answer.safe == rows);
  }
}

TEST_CASE("largest: models that others compiled give the same answer") {
  Request request = test::request("builtin:transformer-base", "tesla-t4", 8);
  ModelCache models;
  REQUIRE(estimate(request, test::hwdb(), &models));
  const size_t known = models.events();
  const auto alone = largest_batch(request, test::hwdb(), {.rounds = 1});
  const auto shared = largest_batch(request, test::hwdb(), {.rounds = 1}, &models);
  REQUIRE(alone);
  REQUIRE(shared);
  CHECK(shared->answer.safe == alone->answer.safe);
  CHECK(shared->answer.last_may_fit == alone->answer.last_may_fit);
  CHECK(shared->rounds.back().step_ns == alone->rounds.back().step_ns);
  CHECK(models.events() == known);
}
