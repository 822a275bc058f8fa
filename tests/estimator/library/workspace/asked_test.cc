#include "estimator/library/workspace/asked.h"

#include <doctest/doctest.h>

#include <memory>

#include "estimator/app/explain/convolutions.h"
#include "estimator/library/workspace/tables.h"
#include "graph/json/reader.h"

using namespace plimsoll;

namespace {

ConvQuestion question_of(std::string_view text) {
  const auto value = read_json(text, "test");
  REQUIRE(value);
  Diagnostics faults;
  JsonObject object(*value, "test", faults, true);
  const ConvQuestion question = read_conv_question(object, DType::kFloat32);
  object.finish();
  REQUIRE(faults.empty());
  return question;
}

// A layer of ResNet-50.
ConvQuestion usual() {
  return question_of(R"({"pass": "fprop", "n": 32, "c": 64, "h": 56, "w": 56, "k": 64, "r": 3,
                         "s": 3, "pad_h": 1, "pad_w": 1})");
}

// Plans that no table has: TF32 first, then half precision, then two plain ones.
AskedAnswer answer_to(const ConvQuestion& question) {
  AskedAnswer answer;
  answer.question = question;
  answer.gpu = "a100-sxm-40gb";
  answer.cudnn = "9.10.2";
  answer.framework = "ideal";
  answer.plans = {{38, 4000, {"tensor_core"}, {{"TILE_SIZE", 1}, {"STAGES", 4}}},
                  {39, 5000, {"tensor_core", "down_convert_inputs"}, {}},
                  {12, 3000, {"winograd", "winograd_tile_4x4"}, {{"KBLOCK", -1}}},
                  {0, 0, {"strict_nan_prop"}, {}}};
  return answer;
}

std::shared_ptr<const AskedWorkspaces> asked(const AskedAnswer& answer) {
  AskedWorkspaces all;
  all.add(answer);
  return std::make_shared<const AskedWorkspaces>(std::move(all));
}

WorkspaceChoice choose(const WorkspacePolicy& policy, int cudnn_major = 9) {
  const ConvQuestion question = usual();
  const auto tables = WorkspaceTables::load(Hwdb(), {.capability = 80, .cudnn_major = cudnn_major},
                                            asked(answer_to(question)));
  REQUIRE(tables);
  const auto choice = tables->choose(question.problem, question.pass, policy);
  REQUIRE(choice);
  return *choice;
}

}  // namespace

TEST_CASE("a question: its line and its text say all of it") {
  ConvQuestion question = question_of(
      R"({"pass": "wgrad", "n": 2, "c": 8, "h": 9, "w": 10, "k": 4, "r": 3, "s": 2, "pad_h": 1,
          "stride_w": 2, "dil_h": 2, "groups": 2, "dtype": "bf16", "layout": "nhwc"})");
  CHECK(text_of(question) == "wgrad 2 8 9 10 4 3 2 1 0 1 2 2 1 2 bf16 nhwc");
  CHECK(question.problem.out == std::array<int64_t, 3>{1, 7, 5});
  JsonWriter out;
  out.begin_object();
  write_conv_question(out, question);
  out.end_object();
  CHECK(question_of(out.take()) == question);
}

TEST_CASE("an answer's line: all plans in cuDNN's order, whichever of them is taken") {
  const AskedAnswer answer = answer_to(usual());
  for (int taken = -1; taken < 4; ++taken) {
    WorkspaceChoice choice;
    choice.plan.preference = taken;
    const auto read = read_answer(line_of(answer, choice), "test");
    REQUIRE(read);
    CHECK(read->question == answer.question);
    CHECK(read->plans == answer.plans);
    CHECK(read->gpu == answer.gpu);
    CHECK(read->cudnn == answer.cudnn);
    CHECK(read->framework == answer.framework);
  }
  AskedAnswer refused = answer;
  refused.plans.clear();
  refused.error = "cuDNN lists no plan";
  CHECK(read_answer(line_of(refused, {}), "test")->error == refused.error);
  CHECK(asked(refused)->find(usual()) == nullptr);
}

TEST_CASE("answers: faults name their line") {
  const std::string line = line_of(answer_to(usual()), {});
  const auto faults = AskedWorkspaces::read(line + "\n\n{\"pass\": 1}\n", "a.jsonl").error();
  CHECK(faults[0].place.file == "a.jsonl, line 3");
  CHECK(AskedWorkspaces::read(line + "\n" + line.substr(0, 60), "a.jsonl").error()[0].code ==
        "E301");
}

TEST_CASE("workspaces as asked stand before tables and before the formulas of old versions") {
  const WorkspaceChoice first = choose({.rule = ScratchRule::kIdeal});
  CHECK(first.basis == WorkspaceBasis::kAsked);
  CHECK(first.plan.engine == 38);
  CHECK(first.plan.tile == 1);
  CHECK(first.plan.bytes == 4000);
  CHECK(first.low == 4000);
  CHECK(first.high == 4000);
  CHECK(first.largest == 4000);  // what rounds to half precision is never taken
  CHECK(first.alternatives.size() == 2);
  const WorkspaceChoice plain = choose({.rule = ScratchRule::kAten, .tensor_cores = false});
  CHECK(plain.plan.algorithm == "winograd");
  CHECK(plain.plan.preference == 2);
  CHECK(plain.largest == 3000);
  const WorkspaceChoice limited = choose({.rule = ScratchRule::kLibrary, .limit = 100});
  CHECK(limited.plan.preference == 3);
  CHECK(limited.basis == WorkspaceBasis::kAsked);
  CHECK(choose({}, 7).basis == WorkspaceBasis::kAsked);
}

TEST_CASE("workspaces as asked hold for the question alone") {
  const auto answers = asked(answer_to(usual()));
  ConvQuestion other = usual();
  CHECK(answers->find(other) != nullptr);
  other.problem.out = {1, 57, 56};  // padded on one side only
  CHECK(answers->find(other) == nullptr);
  other = usual();
  other.dtype = DType::kFloat16;
  CHECK(answers->find(other) == nullptr);
  other = usual();
  other.pass = Pass::kBackwardData;
  CHECK(answers->find(other) == nullptr);
}

TEST_CASE("the convolutions of a step: each once, in every pass that training has") {
  Request request;
  request.model = "builtin:alexnet";
  request.devices = {"titan-xp"};
  request.batch = 8;
  const auto all = convolutions(request, Hwdb());
  REQUIRE(all);
  CHECK(all->size() == 14);  // five layers, three passes, no gradient of the images
  CHECK(text_of(all->front()) == "fprop 8 3 224 224 64 11 11 2 2 4 4 1 1 1 fp32 nchw");
  request.recipe.mode = Mode::kInference;
  CHECK(convolutions(request, Hwdb())->size() == 5);
  request.recipe.precision = find_precision("fp16");
  request.layout = Layout::kChannelsLast;
  CHECK(text_of(convolutions(request, Hwdb())->front()) ==
        "fprop 8 3 224 224 64 11 11 2 2 4 4 1 1 1 fp16 nhwc");
  request.model = "builtin:mlp";
  request.layout = Layout::kNative;
  CHECK(convolutions(request, Hwdb())->empty());
}
