// cuDNN itself, asked again: what tests/golden/workspaces/ keeps of its answers, and the tables.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "calibrate/workspace_packer.h"
#include "estimator/library/workspace/conv_question.h"
#include "hwdb/hwdb.h"
#include "tests/calibrate/calibrate_program.h"
#include "tests/estimator/memory/asked.h"

using namespace plimsoll;
using namespace plimsoll::test;
using nlohmann::json;

namespace {

constexpr size_t kMost = 60;  // of each file

// The test's own environment, which tells where cuDNN is.
std::vector<std::string> inherited() {
  std::vector<std::string> all;
  for (char** at = environ; *at; ++at) all.emplace_back(*at);
  return all;
}

// As the golden files write them: a plan that differs in other knobs alone is not told again.
std::string listed(const json& record) {
  std::vector<json> plans = record["alternatives"];
  if (record.contains("preference")) plans.push_back(record);
  std::sort(plans.begin(), plans.end(),
            [](const json& a, const json& b) { return a["preference"] < b["preference"]; });
  std::string text;
  std::set<std::string> told;
  for (const json& plan : plans) {
    const auto& notes = plan["notes"];
    const auto has = [&](const char* note) {
      return std::find(notes.begin(), notes.end(), note) != notes.end();
    };
    if (has("down_convert_inputs")) continue;
    const int tile = plan["knobs"].value("TILE_SIZE", -1);
    const std::string word =
        fmt::format("{}{}:{}:{} ", plan["engine"].get<int>(), has("tensor_core") ? "t" : "",
                    plan["workspace_bytes"].get<int64_t>(), tile);
    if (told.insert(word).second) text += word;
  }
  return text;
}

std::string listed(const Asked& asked) {
  std::string text;
  for (const GoldenPlan& plan : asked.plans)
    text +=
        fmt::format("{}{}:{}:{} ", plan.engine, plan.tensor_core ? "t" : "", plan.bytes, plan.tile);
  return text;
}

// Where there is no cuDNN, or another than the pinned.
bool is_missing(const Ran& ran) {
  for (const char* code : {"[E701]", "[E703]", "[E704]", "[E705]"}) {
    if (says(ran.err, code)) return true;
  }
  return ran.status == 0 && !says(ran.out, "cuDNN 9.10.");
}

}  // namespace

TEST_CASE("cuDNN answers as it did: every plan, its engine, bytes and tile, in order") {
  const std::pair<int, const char*> cards[] = {
      {61, "gtx-titan-x"},  {61, "tesla-p100-pcie-16gb"}, {70, "tesla-v100-sxm2-16gb"},
      {75, "tesla-t4"},     {80, "a100-sxm-40gb"},        {86, "rtx-3090"},
      {90, "h100-sxm-80gb"}};
  if (!has_calibrate()) return;
  for (const auto& card : cards) {
    const std::string gpu = card.second;
    CAPTURE(gpu);
    auto asked = read_asked(card.first);
    if (asked.size() > kMost) asked.resize(kMost);
    const Scratch scratch;
    std::string lines;
    for (const Asked& each : asked) {
      JsonWriter out;
      out.begin_object();
      write_conv_question(out, {each.problem, each.pass, DType::kFloat32});
      out.end_object();
      lines += out.take() + "\n";
    }
    const std::string in = scratch.write("in.jsonl", lines), out = scratch.path("out.jsonl");
    const Ran ran =
        run_calibrate({"ask", "--gpu", gpu, "--problems", in, "--out", out}, inherited());
    if (is_missing(ran)) return not_run("cuDNN: " + ran.err + ran.out);
    CAPTURE(ran.err);
    REQUIRE(ran.status == 0);
    std::ifstream file(out);
    size_t i = 0;
    for (std::string line; std::getline(file, line); ++i) {
      const json record = json::parse(line);
      REQUIRE(i < asked.size());
      CHECK_MESSAGE(listed(record) == listed(asked[i]), asked[i].text);
    }
    CHECK(i == asked.size());
  }
}

namespace {

// The first plan with tensor cores or without, as a table keeps it: engine and bytes.
std::string first_plan(const json& record, bool tensor_core) {
  std::vector<json> plans = record["alternatives"];
  if (record.contains("preference")) plans.push_back(record);
  std::ranges::sort(plans, {}, [](const json& plan) { return plan["preference"].get<int>(); });
  for (const json& plan : plans) {
    const std::set<std::string> notes = plan["notes"];
    if (notes.contains("down_convert_inputs") || notes.contains("tensor_core") != tensor_core)
      continue;
    return fmt::format("{}:{}", plan["engine"].get<int>(), plan["workspace_bytes"].get<int64_t>());
  }
  return "none";
}
std::string told(const std::optional<KnownPlan>& plan) {
  return plan ? fmt::format("{}:{}", plan->form.engine, plan->bytes) : "none";
}

}  // namespace

TEST_CASE("cuDNN is asked about two networks on four cards within a minute") {
  if (!has_calibrate()) return;
  const Scratch scratch;
  const auto begin = std::chrono::steady_clock::now();
  for (const char* gpu : {"gtx-titan-x", "tesla-p100-pcie-16gb", "quadro-p4000", "titan-xp"}) {
    for (const auto& [model, questions] :
         {std::pair{"builtin:resnet50", 68}, {"builtin:vgg16", 26}}) {
      const Ran ran = run_calibrate({"ask", "--gpu", gpu, "--model", model, "--batch", "32",
                                     "--out", scratch.path(std::string(gpu) + ".jsonl")},
                                    inherited());
      if (is_missing(ran)) return not_run("cuDNN: " + ran.err + ran.out);
      REQUIRE(ran.status == 0);
      CHECK(says(ran.out, fmt::format("{} queries in", questions)));
    }
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}

TEST_CASE("cuDNN answers a thousand random questions as the tables that are built in do") {
  if (!has_calibrate()) return;
  constexpr std::pair<const char*, const char*> kTables[] = {
      {"sm61", "titan-xp"},     {"sm70", "tesla-v100-sxm2-16gb"},
      {"sm75", "tesla-t4"},     {"sm80", "a100-sxm-40gb"},
      {"sm86", "rtx-3090"},     {"sm89", "rtx-4090"},
      {"sm90", "h100-sxm-80gb"}};
  constexpr size_t kEach = 143;
  const Hwdb hwdb;
  const auto layers = LayerList::read(*hwdb.read("workspaces/layers.bin"));
  REQUIRE(layers);
  std::mt19937 chance(27);
  for (const auto& built_in : kTables) {
    const std::string gpu = built_in.second;
    CAPTURE(gpu);
    const auto table = WorkspaceTable::read(
        *hwdb.read(fmt::format("workspaces/cudnn-9.10-{}-fp32-nchw.bin", built_in.first)));
    REQUIRE(table);
    const auto questions = table_questions(*layers, DType::kFloat32, false);
    std::string lines;
    std::vector<std::pair<std::string, ConvQuestion>> asked;
    for (size_t i = 0; i < kEach; ++i) {
      const ConvQuestion& question = questions[chance() % questions.size()];
      JsonWriter out;
      out.begin_object();
      write_conv_question(out, question);
      out.end_object();
      asked.emplace_back(out.take(), question);
      lines += asked.back().first + "\n";
    }
    const Scratch scratch;
    const std::string in = scratch.write("in.jsonl", lines), out = scratch.path("out.jsonl");
    const Ran ran =
        run_calibrate({"ask", "--gpu", gpu, "--problems", in, "--out", out}, inherited());
    if (is_missing(ran)) return not_run("cuDNN: " + ran.err + ran.out);
    REQUIRE(ran.status == 0);
    std::map<std::string, json> answers;  // one asked twice is answered once
    std::ifstream file(out);
    for (std::string line; std::getline(file, line);) {
      const json record = json::parse(line);
      answers[line.substr(0, line.find(R"(,"gpu")")) + "}"] = record;
    }
    for (const auto& each : asked) {
      const std::string& text = each.first;
      const ConvQuestion& question = each.second;
      CAPTURE(text);
      const auto at = answers.find(text);
      REQUIRE(at != answers.end());
      if (at->second["mode"] != "instant") continue;
      const auto shape = conv_shape(question.problem);
      REQUIRE(shape);
      const auto layer = layers->find(*shape);
      REQUIRE(layer);
      const KnownPlans known = table->find(*layer, *shape, question.pass, DType::kFloat32);
      CHECK(told(known.plain) == first_plan(at->second, false));
      CHECK(told(known.tensor) == first_plan(at->second, true));
    }
  }
}
