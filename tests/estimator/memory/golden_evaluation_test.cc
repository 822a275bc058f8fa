// What a program takes of memory while it evaluates between steps, against transformers' own
// Trainer.evaluation_loop() (tests/oracles/evaluation_steps.py), also of a model that FSDP shards
// (sharded_evaluation.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>

#include "estimator/estimator.h"
#include "estimator/settings/given_settings.h"
#include "tests/support/golden_differences.h"
#include "tests/support/golden_memory.h"
#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

// A step of the Trainer, which lets go of outputs, and what it evaluates.
Request request_of(const nlohmann::json& golden, const nlohmann::json& one,
                   const std::string& path) {
  Request request;
  request.model = path;
  request.devices = {"a100-sxm-40gb"};
  request.batch = golden["batch"];
  request.dims["sequence"] = golden["sequence"];
  request.attention = AskedAttention::kSdpa;
  Recipe& recipe = request.recipe;
  recipe.optimizer = find_optimizer("adam");
  recipe.precision = find_precision(one["precision"].get<std::string>());
  request.precision_given = true;
  recipe.keeps_outputs = false;
  recipe.widened_outputs = WidenedOutputs::kAccelerate;
  recipe.evaluation = {golden["evaluation_batch"], one["gathered"]};
  if (one.contains("targets")) {
    recipe.finetune.kind = FinetuneKind::kLora;
    recipe.finetune.rank = 8;
    recipe.finetune.targets = one["targets"];
  }
  return request;
}

// One rank's.
Request sharded_request(const nlohmann::json& golden, const nlohmann::json& one,
                        const std::string& path) {
  GivenSettings given;
  given.model = path;
  const auto add = [&](std::string_view name, const std::string& text) {
    given.add(*find_setting(name), text);
  };
  const auto number = [](const nlohmann::json& value) {
    return std::to_string(value.get<int64_t>());
  };
  add("gpu", "h100-sxm-80gb");
  add("batch", number(golden["batch"]));
  add("dim", "sequence=" + number(golden["sequence"]));
  add("attention", "sdpa");
  add("fsdp", number(golden["ranks"]));
  add("fsdp-version", number(one["version"]));
  add("precision", one["precision"]);
  add("optimizer", "adam");
  add("keep-outputs", "off");
  add("widen-outputs", "accelerate");
  add("eval-batch", number(golden["evaluation_batch"]));
  add("eval-gather", number(one["gathered"]));
  auto request = to_request(given);
  REQUIRE(request);
  return *request;
}

}  // namespace

TEST_CASE("evaluation between steps takes what transformers' Trainer takes") {
  const auto golden = test::read_golden("memory/evaluation.json");
  const Hwdb hwdb = Hwdb::open({}).value();
  const test::Scratch scratch;
  test::Errors errors;
  for (const auto& family : golden["families"]) {
    const std::string path = scratch.write("config.json", family["config"].dump());
    for (const auto& one : family["cases"]) {
      const std::string what = fmt::format(
          "{} {}{} {}", family["name"].get<std::string>(), one["precision"].get<std::string>(),
          one.contains("targets") ? " lora" : "", one["gathered"].get<int64_t>());
      CAPTURE(what);
      const auto got = estimate(request_of(golden, one, path), hwdb);
      REQUIRE(got);
      REQUIRE(got->memory.evaluation);
      const EvaluationMemory& m = *got->memory.evaluation;
      CHECK(m.step_live_peak_bytes == one["step"].get<int64_t>());
      errors.add(what, m.live_peak_bytes, one["evaluation"]);
      const int64_t step = one["step"], evaluated = one["evaluation"];
      CHECK(m.holds_peak == (evaluated > step));
      CHECK(got->memory.live_peak_bytes == std::max(m.live_peak_bytes, m.step_live_peak_bytes));
      CHECK(m.allocated_peak_bytes >= m.live_peak_bytes);
      CHECK(got->memory.allocated_peak_bytes >= m.allocated_peak_bytes);
      CHECK(got->memory.reserved_bytes >= got->memory.allocated_peak_bytes);
    }
  }
  REQUIRE(errors.count() == 32);
  MESSAGE("evaluation: ", errors.text());
  test::check_differences("evaluation", errors);
  CHECK(errors.share_within(0.001) == 1);
}

TEST_CASE("a rank of FSDP takes what transformers' Trainer takes while it evaluates") {
  const auto golden = test::read_golden("sharded/evaluation.json");
  const Hwdb hwdb = Hwdb::open({}).value();
  const test::Scratch scratch;
  const std::string path = scratch.write("config.json", golden["config"].dump());
  test::Errors steps, evaluations;
  for (const auto& one : golden["cases"]) {
    const std::string what =
        fmt::format("fsdp{} {} {}", one["version"].get<int64_t>(),
                    one["precision"].get<std::string>(), one["gathered"].get<int64_t>());
    CAPTURE(what);
    const auto got = estimate(sharded_request(golden, one, path), hwdb);
    REQUIRE(got);
    REQUIRE(got->memory.evaluation);
    steps.add(what, got->memory.evaluation->step_live_peak_bytes, one["step"]);
    evaluations.add(what, got->memory.evaluation->live_peak_bytes, one["evaluation"]);
  }
  REQUIRE(evaluations.count() == 12);
  MESSAGE("steps: ", steps.text());
  MESSAGE("evaluation: ", evaluations.text());
  test::check_differences("sharded evaluation steps", steps);
  test::check_differences("sharded evaluation", evaluations);
  CHECK(steps.share_within(0.001) == 1);
  CHECK(evaluations.share_within(0.001) == 1);
}

TEST_CASE("a loss that makes scores of parts makes no more of them in evaluation") {
  const auto golden = test::read_golden("memory/evaluation.json");
  const Hwdb hwdb = Hwdb::open({}).value();
  const test::Scratch scratch;
  const auto& family = golden["families"][0];
  const std::string path = scratch.write("config.json", family["config"].dump());
  std::map<LossForm, int64_t> peaks;
  for (const LossForm form : {LossForm::kOperators, LossForm::kChunkedLinear, LossForm::kChunked,
                              LossForm::kFusedLinear}) {
    CAPTURE(static_cast<int>(form));
    Request request = request_of(golden, family["cases"][0], path);
    request.recipe.loss_form = form;
    const auto got = estimate(request, hwdb);
    REQUIRE(got);
    REQUIRE(got->memory.evaluation);
    peaks[form] = got->memory.evaluation->live_peak_bytes;
  }
  CHECK(peaks[LossForm::kChunkedLinear] <= peaks[LossForm::kChunked]);
  CHECK(peaks[LossForm::kChunked] < peaks[LossForm::kOperators]);
  CHECK(peaks[LossForm::kFusedLinear] < peaks[LossForm::kOperators]);
}

}  // namespace plimsoll
