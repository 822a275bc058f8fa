// What would help: each change is what estimate() says of the request with its flags.
#include "estimator/app/search/remedies.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "estimator/app/report/spelling.h"
#include "estimator/app/search/largest_batch.h"
#include "estimator/estimator.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

Request too_much() { return test::request("builtin:resnet50", "tesla-t4", 600); }

const Remedy* find(const std::vector<Remedy>& remedies, const std::string& flags) {
  const auto at = std::ranges::find_if(
      remedies, [&](const Remedy& remedy) { return spelled(remedy.settings) == flags; });
  return at == remedies.end() ? nullptr : &*at;
}

}  // namespace

TEST_CASE("remedies: single changes that need less, the verdict first, then the least time") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  const Request request = too_much();
  ModelCache models;
  const auto today = estimate(request, *hwdb, &models);
  REQUIRE(today);
  REQUIRE(today->memory.verdict == Verdict::kDoesNotFit);
  const auto found = remedies(request, *hwdb, *today, models);
  REQUIRE(found.size() >= 5);
  CHECK(found.front().verdict == Verdict::kFits);
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(found[i].settings);
    const double kept = static_cast<double>(found[i].device_bytes) /
                        static_cast<double>(today->memory.device_bytes);
    CHECK(kept < (found[i].verdict == today->memory.verdict ? .98 : 1));
    CHECK(found[i].device_range.low <= found[i].device_bytes);
    CHECK(found[i].device_range.high >= found[i].device_bytes);
    if (i == 0 || found[i - 1].verdict != found[i].verdict) continue;
    CHECK(found[i - 1].samples_per_second >= found[i].samples_per_second);
  }
  SUBCASE("each is the estimate of its flags") {
    const Remedy* blocks = find(found, "--checkpoint blocks");
    REQUIRE(blocks);
    Request changed = request;
    changed.recipe.checkpoint = "blocks";
    const auto estimated = estimate(changed, *hwdb);
    REQUIRE(estimated);
    CHECK(blocks->device_bytes == estimated->memory.device_bytes);
    CHECK(blocks->step_ns == estimated->time.step_ns);
  }
  SUBCASE("the batch is the largest that is safe, and accumulation keeps its samples") {
    const auto largest = largest_batch(request, *hwdb);
    REQUIRE(largest);
    CHECK(find(found, "--batch " + std::to_string(largest->answer.safe)));
    CHECK(find(found, "--batch 150 --accumulate 4"));
  }
  SUBCASE("a card without bf16 is told of fp16, one with it of bf16") {
    CHECK(find(found, "--precision amp-fp16"));
    Request newer = request;
    newer.devices = {"l4"};
    const auto on_newer = estimate(newer, *hwdb, &models);
    REQUIRE(on_newer);
    CHECK(find(remedies(newer, *hwdb, *on_newer, models), "--precision amp-bf16"));
  }
}

TEST_CASE("remedies: where loading needs most, another way to load and no smaller batch") {
  Request request = test::request("builtin:gpt2", "rtx-3060", 4);
  request.dims["sequence"] = 64;
  request.recipe.mode = Mode::kInference;
  request.recipe.precision = find_precision("fp16");
  request.precision_given = true;
  request.weight_loading = WeightLoading::kFp32;
  ModelCache models;
  const auto roomy = estimate(request, test::hwdb(), &models);
  REQUIRE(roomy);
  REQUIRE(roomy->memory.in_loading());
  request.memory_bytes = roomy->memory.device_bytes - (int64_t{64} << 20);
  const auto today = estimate(request, test::hwdb(), &models);
  REQUIRE(today);
  REQUIRE(today->memory.verdict != Verdict::kFits);
  const auto found = remedies(request, test::hwdb(), *today, models);
  CHECK(find(found, "--load parts"));
  CHECK(std::ranges::none_of(
      found, [](const Remedy& remedy) { return spelled(remedy.settings).starts_with("--batch"); }));
}

TEST_CASE("remedies: several GPUs that each hold the same may share it") {
  Request request = test::request("builtin:gpt2", "rtx-3060", 1);
  request.dims["sequence"] = 64;
  request.recipe.optimizer = find_optimizer("adamw");
  request.memory_bytes = int64_t{2200} << 20;
  const auto flags = [&] {
    ModelCache models;
    const auto today = estimate(request, test::hwdb(), &models);
    REQUIRE(today);
    REQUIRE(today->memory.verdict != Verdict::kFits);
    return remedies(request, test::hwdb(), *today, models);
  };
  CHECK_FALSE(find(flags(), "--fsdp"));
  request.gpu_count = 4;
  const auto found = flags();
  REQUIRE(find(found, "--fsdp"));
  CHECK(find(found, "--fsdp")->verdict == Verdict::kFits);
  request.parallel.zero = int64_t{1};
  CHECK_FALSE(find(flags(), "--fsdp"));
  request.parallel.zero.reset();
  request.memory_bytes = int64_t{1000} << 20;
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 4;
  CHECK_FALSE(find(flags(), "--fsdp"));
}

TEST_CASE("remedies: what the request already has, and what its mode lacks, is not offered") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  Request request = too_much();
  request.recipe.mode = Mode::kInference;
  request.recipe.precision = find_precision("amp-fp16");
  request.batch = 4000;
  ModelCache models;
  const auto today = estimate(request, *hwdb, &models);
  REQUIRE(today);
  REQUIRE(today->memory.verdict != Verdict::kFits);
  for (const Remedy& remedy : remedies(request, *hwdb, *today, models)) {
    const std::string flags = spelled(remedy.settings);
    CAPTURE(flags);
    CHECK(flags.find("--precision") == flags.npos);
    CHECK(flags.find("--optimizer") == flags.npos);
    CHECK(flags.find("--checkpoint") == flags.npos);
    CHECK(flags.find("--accumulate") == flags.npos);
  }
}

TEST_CASE("largest batch: round batches below it with their speed, and one that is as fast") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  const auto largest = largest_batch(too_much(), *hwdb, {.multiple = 8});
  REQUIRE(largest);
  REQUIRE(largest->rounds.size() >= 5);
  CHECK(largest->answer.safe % 8 == 0);
  double best = 0;
  for (const RoundBatch& r : largest->rounds) {
    CAPTURE(r.memory.batch);
    CHECK(r.memory.batch % 8 == 0);
    CHECK(r.memory.batch <= largest->answer.last_may_fit);
    CHECK(r.samples_per_second > 0);
    if (r.memory.batch <= largest->answer.safe) best = std::max(best, r.samples_per_second);
  }
  const auto as_fast = std::ranges::find_if(
      largest->rounds, [&](const RoundBatch& r) { return r.memory.batch == largest->as_fast; });
  REQUIRE(as_fast != largest->rounds.end());
  CHECK(as_fast->samples_per_second >= .98 * best);
  // The same as an estimate of its own says.
  Request alone = too_much();
  alone.batch = largest->as_fast;
  const auto estimated = estimate(alone, *hwdb);
  REQUIRE(estimated);
  CHECK(estimated->time.step_ns == as_fast->step_ns);
  CHECK(estimated->memory.device_bytes == as_fast->memory.device_bytes);
}

}  // namespace plimsoll
