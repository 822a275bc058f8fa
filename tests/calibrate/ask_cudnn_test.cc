// cuDNN itself, asked again: what tests/golden/workspaces/ keeps of its answers, and the tables.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "estimator/memory/workspace/conv_question.h"
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

}  // namespace

TEST_CASE("cuDNN answers as it did: every plan, its engine, bytes and tile, in order") {
  const std::pair<int, const char*> cards[] = {
      {61, "gtx-titan-x"},  {61, "tesla-p100-pcie-16gb"}, {70, "tesla-v100-sxm2-16gb"},
      {75, "tesla-t4"},     {80, "a100-sxm-40gb"},        {86, "rtx-3090"},
      {90, "h100-sxm-80gb"}};
  if (calibrate_binary().empty()) {
    MESSAGE("not run: no plimsoll-calibrate beside PLIMSOLL_BINARY");
    return;
  }
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
    if (ran.err.find("[E701]") != std::string::npos ||
        ran.err.find("[E705]") != std::string::npos ||
        ran.err.find("[E704]") != std::string::npos) {
      MESSAGE("not run: " << ran.err);
      return;
    }
    CAPTURE(ran.err);
    REQUIRE(ran.status == 0);
    if (ran.out.find("cuDNN 9.10.") == std::string::npos) {
      MESSAGE("not run: the answers that are kept are 9.10's, this is another: " << ran.out);
      return;
    }
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
