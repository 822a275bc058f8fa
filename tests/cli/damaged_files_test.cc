// Files of the program that something has changed since, and places that it cannot write to or read
// its defaults from: each is told, and none is taken for something else.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {
namespace {

const std::vector<std::string> kQuestion = {"estimate", "builtin:mlp", "--gpu", "t4"};

std::vector<std::string> extended(std::vector<std::string> question,
                                  const std::vector<std::string>& more) {
  question.insert(question.end(), more.begin(), more.end());
  return question;
}

std::string answer_where(const Scratch& scratch, const std::string& name, const std::string& place,
                         const nlohmann::json& value) {
  static const std::string kAnswer = run_plimsoll(extended(kQuestion, {"--json"})).out;
  nlohmann::json answer = nlohmann::json::parse(kAnswer);
  answer[nlohmann::json::json_pointer(place)] = value;
  return scratch.write(name, answer.dump());
}

}  // namespace

TEST_CASE("cli: an answer that asks what no setting takes is not asked without it") {
  if (skipped()) return;
  const Scratch scratch;
  const auto asked = [&](const std::string& place, const nlohmann::json& value) {
    return run_plimsoll({"estimate", "--from", answer_where(scratch, "a.json", place, value)});
  };
  // Nobody gave the batch: it is the model's, and no less a batch.
  for (const nlohmann::json& batch :
       {nlohmann::json("x"), nlohmann::json(-1), nlohmann::json::array({8}), nlohmann::json(2.5)}) {
    const Ran ran = asked("/request/batch", batch);
    CAPTURE(batch.dump());
    CHECK(ran.status >= 2);
    CHECK(says(ran, "a.json:1:"));
  }
  CHECK(asked("/request/batch", 8).status == 0);
  CHECK(asked("/request/batch", nullptr).status == 0);
  for (const nlohmann::json& version :
       {nlohmann::json(99), nlohmann::json("1"), nlohmann::json(0), nlohmann::json(nullptr)}) {
    CAPTURE(version.dump());
    const Ran ran = asked("/version", version);
    CHECK(ran.status == 3);
    CHECK(says(ran, "this program reads 1 [E330]"));
  }
}

TEST_CASE("cli: answers are compared only where their figures are figures") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string good = answer_where(scratch, "good.json", "/version", 1);
  const auto compared = [&](const std::string& place, const nlohmann::json& value) {
    return run_plimsoll({"compare", good, answer_where(scratch, "b.json", place, value)});
  };
  for (const nlohmann::json& value :
       {nlohmann::json("160 MiB"), nlohmann::json(true), nlohmann::json(1.5)}) {
    CAPTURE(value.dump());
    const Ran ran = compared("/result/memory/device_bytes", value);
    CHECK(ran.status == 3);
    CHECK(says(ran, "result.memory.device_bytes is a whole number, found"));
  }
  CHECK(compared("/result/memory/device_bytes", nullptr).status == 0);
  CHECK(compared("/result/memory/device_bytes", 1).status == 0);
  const Ran later = compared("/version", 2);
  CHECK(later.status == 3);
  CHECK(says(later, "[E330]"));
}

TEST_CASE("cli: a page is not written to a pipe that nobody reads, nor to a file called -") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string pipe = scratch.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const char* flag : {"--html", "--trace"}) {
    CAPTURE(std::string(flag));
    const Ran ran = run_plimsoll(extended(kQuestion, {flag, pipe, "--force"}), {.seconds = 10});
    CHECK(ran.status == 4);
    CHECK(says(ran, "cannot be written"));
    const Ran dash = run_plimsoll(extended(kQuestion, {flag, "-"}), {.folder = scratch.path("")});
    CHECK(dash.status == 4);
    CHECK(says(dash, "-: error: names no file"));
    CHECK(run_plimsoll(extended(kQuestion, {flag, "./-"}), {.folder = scratch.path("")}).status ==
          0);
    CHECK(::unlink(scratch.path("-").c_str()) == 0);
  }
  scratch.write("p.yaml", "model: builtin:mlp\nparameters: {batch: [2]}\n");
  const Ran log =
      run_plimsoll({"sweep", "p.yaml", "--gpu", "t4", "--out", "-"}, {.folder = scratch.path("")});
  CHECK(log.status == 4);
  CHECK(says(log, "-: error: names no file"));
  CHECK(::access(scratch.path("-").c_str(), F_OK) != 0);
}

TEST_CASE("cli: defaults that cannot be read, or have another file's name, are told") {
  if (skipped()) return;
  const Scratch scratch;
  const RunOptions here = {.folder = scratch.path("")};
  const std::string file = scratch.path("plimsoll.yaml");
  for (const char* leads_to : {"nowhere.yaml", "plimsoll.yaml"}) {
    CAPTURE(std::string(leads_to));
    REQUIRE(::symlink(leads_to, file.c_str()) == 0);
    const Ran ran = run_plimsoll(kQuestion, here);
    CHECK(ran.status == 4);
    CHECK(says(ran, "plimsoll.yaml: error: "));
    ::unlink(file.c_str());
  }
  scratch.write("plimsoll.yml", "batch: 4\n");
  const Ran other = run_plimsoll(kQuestion, here);
  CHECK(other.status == 0);
  CHECK(says(other, "plimsoll.yml has no effect: defaults are in plimsoll.yaml [W516]"));
  scratch.write("plimsoll.yaml", "batch: 4\n");
  CHECK(!says(run_plimsoll(kQuestion, here), "plimsoll.yml"));
}

TEST_CASE("cli: a value of the environment that is refused is told to be the environment's") {
  if (skipped()) return;
  for (const char* set : {"PLIMSOLL_PRECISION= fp16", "PLIMSOLL_OPTIMIZER=AdamW",
                          "PLIMSOLL_FRAMEWORK=torchy", "PLIMSOLL_BATCH=08"}) {
    CAPTURE(std::string(set));
    const std::string name = std::string(set).substr(0, std::string(set).find('='));
    const Ran ran = run_plimsoll(kQuestion, {.environment = {set}});
    CHECK(ran.status == 2);
    CHECK(says(ran, "is set in the environment") == (name != "PLIMSOLL_FRAMEWORK"));
  }
}

TEST_CASE("cli: a table of runs whose fields nothing that it reads separates is told so") {
  if (skipped()) return;
  const Scratch scratch;
  for (const auto& [separator, name] : {std::pair{';', "semicolons"}, std::pair{'\t', "tabs"}}) {
    std::string text = "kind,device,model,batch,total_ms\nmodel,t4,builtin:mlp,8,100\n";
    std::ranges::replace(text, ',', separator);
    const Ran ran = run_plimsoll({"validate", scratch.write("r.csv", text)});
    CHECK(ran.status == 3);
    CHECK(says(ran, std::string("fields are separated by ") + name + " [E512]"));
  }
}

TEST_CASE("cli: a plan's parameter is given in one way") {
  if (skipped()) return;
  const Scratch scratch;
  for (const char* two : {"{values: [1, 2], value: 4}", "{values: [1, 2], min: 1, max: 8}",
                          "{value: 4, min: 1, max: 8}", "{value: 4, max: 8}"}) {
    CAPTURE(std::string(two));
    const std::string plan = scratch.write(
        "p.yaml", std::string("model: builtin:mlp\nparameters:\n  batch: ") + two + "\n");
    const Ran ran = run_plimsoll({"sweep", plan, "--gpu", "t4"});
    CHECK(ran.status == 3);
    CHECK(says(ran, "p.yaml:3:"));
    CHECK(says(ran, "give one of them [E311]"));
  }
}

}  // namespace plimsoll::test
