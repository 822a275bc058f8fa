// compare on two results that were written before: what was asked differently, which figures
// differ, and which part of the memory makes the difference.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {
namespace {

std::string result_of(const Scratch& scratch, const std::string& name,
                      const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"estimate", "builtin:squeezenet1_0", "--gpu", "l4",
                                        "--json"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return scratch.write(name, run_plimsoll(arguments).out);
}

}  // namespace

TEST_CASE("cli: compare says what differs between two results, and what makes it") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string before = result_of(scratch, "before.json", {"--batch", "32"});
  const std::string after = result_of(scratch, "after.json", {"--batch", "64"});
  const Ran ran = run_plimsoll({"compare", before, after});
  CHECK(ran.status == 0);
  CHECK(says(ran.out, "request: batch 32 -> 64\n"));
  CHECK(says(ran.out, "peak on the GPU"));
  CHECK(says(ran.out, "more on the GPU, most of all "));
  CHECK(says(ran.out, "feature maps kept for backward"));
  CHECK(!says(ran.out, "parameters"));  // as many
  const Ran csv = run_plimsoll({"compare", before, after, "--csv"});
  CHECK(csv.out.starts_with("figure,before,after,change\nresult.memory.device_bytes,"));
  CHECK(run_plimsoll({"compare", before, before}).out == "no figure differs\n");
}

TEST_CASE("cli: compare says which flags have no effect on answers that were written before") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string one = result_of(scratch, "one.json", {});
  const std::vector<std::vector<std::string>> kIdle = {
      {"--batch", "8"}, {"--gpu", "a100"}, {"--price", "l4=1"}, {"--optimizer", "adam"}};
  for (const auto& flags : kIdle) {
    CAPTURE(flags[0]);
    const Ran ran = run_plimsoll({"compare", one, one, flags[0], flags[1]});
    CHECK(ran.status == 0);
    CHECK(says(ran.err, flags[0] + " has no effect: answers are compared as they were written"));
  }
  CHECK(run_plimsoll({"compare", one, one}).err.empty());
}

TEST_CASE("cli: compare reads the page that estimate --html writes") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string page = scratch.path("r.html");
  CHECK(run_plimsoll({"estimate", "builtin:squeezenet1_0", "--gpu", "l4", "--batch", "32", "--html",
                      page, "--quiet"})
            .status == 0);
  const std::string after =
      result_of(scratch, "after.json", {"--batch", "32", "--optimizer", "adam"});
  const Ran ran = run_plimsoll({"compare", page, after});
  CHECK(ran.status == 0);
  CHECK(says(ran.out, "optimizer state"));
  CHECK(!says(ran.out, "kept for backward"));
}

TEST_CASE("cli: what is no result is refused beside one") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string one = result_of(scratch, "one.json", {});
  const std::string config = std::string(PLIMSOLL_SOURCE_DIR) + "/examples/perceptron.json";
  const Ran ran = run_plimsoll({"compare", one, config});
  CHECK(ran.status == 2);
  CHECK(says(ran, "perceptron.json is no result"));
  CHECK(run_plimsoll({"compare", one, scratch.path("none.json")}).status == 4);
  CHECK(run_plimsoll({"compare", one, scratch.write("bad.json", "{")}).status == 3);
}

TEST_CASE("cli: compare says every setting that two answers were asked with another value of") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string a = result_of(scratch, "a.json", {"--batch", "8"});
  const std::string b = result_of(scratch, "b.json",
                                  {"--batch", "8", "--precision", "amp-fp16", "--optimizer",
                                   "adamw", "--checkpoint", "blocks", "--freeze", "features.*"});
  const Ran ran = run_plimsoll({"compare", a, b});
  CHECK(says(ran.out, "request: precision fp32 -> amp-fp16\n"));
  CHECK(says(ran.out, "request: optimizer momentum -> adamw\n"));
  CHECK(says(ran.out, "request: checkpoint none -> blocks\n"));
  CHECK(says(ran.out, "request: freeze none -> features.*\n"));
  CHECK(!says(ran.out, "request: batch"));
  CHECK(!says(ran.out, "before: "));  // with --basis
  CHECK(says(run_plimsoll({"compare", a, b, "--basis"}).out, "before: "));
  const Ran as_json = run_plimsoll({"compare", a, b, "--json"});
  CHECK(as_json.status == 0);
  const auto document = nlohmann::json::parse(as_json.out);
  CHECK(document["result"]["request_differences"] ==
        nlohmann::json::parse(R"([{"setting": "precision", "a": "fp32", "b": "amp-fp16"},
                                  {"setting": "optimizer", "a": "momentum", "b": "adamw"},
                                  {"setting": "checkpoint", "a": "none", "b": "blocks"},
                                  {"setting": "freeze", "a": [], "b": ["features.*"]}])"));
  const auto& figures = document["result"]["figures"];
  CHECK(figures[0]["figure"] == "result.memory.device_bytes");
  const double change = figures[0]["b"].get<double>() / figures[0]["a"].get<double>() - 1;
  CHECK(figures[0]["change"].get<double>() == doctest::Approx(change));
  CHECK(document["request_given"].empty());
  const std::string page = scratch.path("difference.html");
  CHECK(run_plimsoll({"compare", a, b, "--html", page}).status == 0);
  const std::string html = detail::text_of(page);
  CHECK(says(html, "Differences between the requests"));
  CHECK(says(html, "amp-fp16"));
}

TEST_CASE("cli: compare fails where a figure grows by more than it may") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string a = result_of(scratch, "a.json", {"--batch", "32"});
  const std::string b = result_of(scratch, "b.json", {"--batch", "40"});
  const auto compared = [&](const std::string& from, const std::string& to,
                            std::vector<std::string> more) {
    std::vector<std::string> words = {"compare", from, to};
    words.insert(words.end(), more.begin(), more.end());
    return run_plimsoll(words);
  };
  const Ran failed = compared(a, b, {"--fail-if", "peak>5%", "--fail-if", "step > 300 %"});
  CHECK(failed.status == 1);
  CHECK(says(failed.out, "FAILED peak grew by "));
  CHECK(says(failed.out, "; the limit is 5 %\n"));
  CHECK(says(failed.out, "PASSED step grew by "));
  CHECK(!says(failed, "::error"));
  CHECK(compared(a, b, {"--fail-if", "peak>100%"}).status == 0);
  CHECK(compared(b, a, {"--fail-if", "peak>0%", "--fail-if", "step>0%"}).status == 0);
  CHECK(compared(a, a, {"--fail-if", "peak>0%"}).status == 0);
  const Ran as_json = compared(a, b, {"--fail-if", "peak>5%", "--json"});
  CHECK(as_json.status == 1);
  const auto document = nlohmann::json::parse(as_json.out);
  CHECK(document["result"]["limits"][0]["exceeded"] == true);
  CHECK(document["result"]["passed"] == false);
  CHECK(document["request"]["fail_if"] == nlohmann::json({"peak>5%"}));
  const Ran at_github = run_plimsoll({"compare", a, b, "--fail-if", "peak>5%"},
                                     {.environment = {"GITHUB_ACTIONS=true"}});
  CHECK(says(at_github.err, "::error title=plimsoll::peak grew by "));
}

TEST_CASE("cli: a limit that is none is refused") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string a = result_of(scratch, "a.json", {"--batch", "8"});
  const auto refusal = [&](const std::string& limit) {
    const Ran ran = run_plimsoll({"compare", a, a, "--fail-if", limit});
    CHECK(ran.status == 2);
    CHECK(ran.out == "");
    return ran.err;
  };
  for (const char* text : {"peak", "peak>5", "peak=5%", ">5%", "5%"})
    CHECK(says(refusal(text), "takes a figure and per cent, such as peak>5%"));
  CHECK(says(refusal("peek>5%"), "did you mean peak?"));
  CHECK(says(refusal("peak>-5%"), "--fail-if peak must be a number from 0"));
  CHECK(says(refusal("peak>=5%"), "--fail-if peak must be a number from 0"));
  const Ran models = run_plimsoll(
      {"compare", "builtin:mlp", "--gpu", "l4", "--gpu", "tesla-t4", "--fail-if", "peak>5%"});
  CHECK(models.status == 2);
  CHECK(says(models.err, "--fail-if is for two answers"));
  const Ran without =
      run_plimsoll({"compare", a, scratch.write("b.json", R"({"schema": "plimsoll.estimate"})"),
                    "--fail-if", "step>5%"});
  CHECK(without.status == 3);
  CHECK(says(without.err, "the second has no result.time.step_ns"));
}

TEST_CASE("cli: a card that is named twice, by whatever names, is not compared with itself") {
  if (skipped()) return;
  for (const char* again : {"t4", "tesla-t4", "Tesla T4"}) {
    CAPTURE(std::string(again));
    const Ran ran = run_plimsoll({"compare", "builtin:mlp", "--gpu", "t4", "--gpu", again});
    CHECK(ran.status == 2);
    CHECK(says(ran, "are the same GPU [E114]"));
  }
  CHECK(run_plimsoll({"compare", "builtin:mlp", "--gpu", "t4", "--gpu", "l4"}).status == 0);
}

}  // namespace plimsoll::test
