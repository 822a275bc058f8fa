// `plimsoll sweep` as users meet it: plans good and bad, lines that scripts read.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "estimator/report/schemas.h"
#include "tests/support/run_plimsoll.h"
#include "tests/support/schema_fault.h"

using namespace plimsoll::test;
using nlohmann::json;

namespace {

const std::string kSmallPlan = R"(
model: builtin:squeezenet1_0
parameters:
  batch_size: {values: [8, 64]}
  learning_rate: [0.1, 0.01, 0.001]
  optimizer: [sgd, adam]
  gpu: [tesla-t4, p4000]
  momentum: {min: 0.5, max: 0.9, distribution: uniform}
)";

// `plan` as a file p.yaml in a folder of its own, swept from there.
Ran swept(const std::string& plan, std::vector<std::string> flags = {}) {
  const Scratch scratch;
  scratch.write("p.yaml", plan);
  flags.insert(flags.begin(), {"sweep", "p.yaml"});
  return run_plimsoll(std::move(flags), {.folder = scratch.path("")});
}

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("cli sweep: a line for each configuration, with estimate's verdict") {
  if (skipped()) return;
  const Ran ran = swept(kSmallPlan, {"--json"});
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  CHECK(ran.err.find("p.yaml:5:3: warning: learning_rate has no effect") != std::string::npos);
  CHECK(ran.err.find("p.yaml:8:3: warning: momentum has no effect") != std::string::npos);
  const std::vector<json> lines = lines_of(ran.out);
  REQUIRE(lines.size() == 2 * 3 * 2 * 2 + 1);
  const json schema = json::parse(plimsoll::schema_text("sweep"));
  std::set<int> numbers;
  int64_t fit = 0;
  for (const json& line : lines) {
    CHECK(schema_fault(schema, line) == "");
    if (!line.contains("configuration")) continue;
    numbers.insert(line["configuration"].get<int>());
    fit += line["fits"].get<bool>() ? 1 : 0;
    const json& p = line["parameters"];
    const int expected =
        (((p["batch_size"] == 64 ? 1 : 0) * 3 + (p["learning_rate"] == 0.1    ? 0
                                                 : p["learning_rate"] == 0.01 ? 1
                                                                              : 2)) *
             2 +
         (p["optimizer"] == "adam" ? 1 : 0)) *
            2 +
        (p["gpu"] == "p4000" ? 1 : 0);
    CHECK(line["configuration"] == expected);
  }
  CHECK(numbers.size() == 24);
  const json& summary = lines.back()["result"];
  CHECK(summary["configurations"] == 24);
  CHECK(summary["fit"] == fit);

  const json& one = lines[3];
  const auto text = [&](const char* name) { return one["parameters"][name].get<std::string>(); };
  const Ran alone = run_plimsoll(
      {"estimate", "builtin:squeezenet1_0", "--gpu", text("gpu"), "--optimizer", text("optimizer"),
       "--batch", std::to_string(one["parameters"]["batch_size"].get<int>()), "--json"});
  const json estimate = json::parse(alone.out)["result"];
  CHECK(one["device_id"] == estimate["device"]["id"]);
  CHECK(one["fits"] == estimate["fits"]);
  CHECK(one["device_bytes"] == estimate["memory"]["device_bytes"]);
  CHECK(std::abs(one["step_ns"].get<int64_t>() - estimate["time"]["step_ns"].get<int64_t>()) <= 1);
}

TEST_CASE("cli sweep: the same every time; counts alone, memory alone") {
  if (skipped()) return;
  const auto summary = [](const std::vector<std::string>& flags) {
    json last = lines_of(swept(kSmallPlan, flags).out).back()["result"];
    last.erase("seconds");
    return last;
  };
  const json all = summary({"--json"});
  CHECK(summary({"--json", "--count-only"}) == all);
  CHECK(lines_of(swept(kSmallPlan, {"--json", "--count-only"}).out).size() == 1);
  const json memory = summary({"--json", "--memory-only"});
  CHECK(memory["fit"] == all["fit"]);
  CHECK(memory["checksum"] != all["checksum"]);
  CHECK_FALSE(lines_of(swept(kSmallPlan, {"--json", "--memory-only"}).out)[0].contains("step_ns"));
}

TEST_CASE("cli sweep: text says how many, and which are the best") {
  if (skipped()) return;
  const Ran ran = swept(kSmallPlan);
  CHECK(ran.status == 0);
  CHECK(ran.out.starts_with(
      "24 configurations: 2 batch_size x 3 learning_rate x 2 optimizer x 2 gpu\n"
      "24 fit, 0 may fit, 0 do not fit; "));
  CHECK(ran.out.find("\nBest that fit ") != std::string::npos);
  const Ran none = swept(kSmallPlan, {"--mem", "128MiB"});
  CHECK(none.status == 1);
  CHECK(none.out.find("\n0 fit, ") != std::string::npos);
  CHECK(none.out.find("\nNearest: batch_size 8, ") != std::string::npos);
  CHECK(swept(kSmallPlan, {"--dry-run"}).out.find('\n') ==
        swept(kSmallPlan, {"--dry-run"}).out.size() - 1);
}

TEST_CASE("cli sweep: a configuration without an answer is told among the others") {
  if (skipped()) return;
  const Ran ran =
      swept("model: builtin:alexnet\nparameters: {batch: [8, 2000000000], gpu: l4}\n", {"--json"});
  CHECK(ran.status == 0);
  const std::vector<json> lines = lines_of(ran.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[1]["error"]["code"] == "E232");
  CHECK(schema_fault(json::parse(plimsoll::schema_text("sweep")), lines[1]) == "");
  CHECK(lines[2]["result"]["failed"] == 1);
}

TEST_CASE("cli sweep: models beside the plan, their parameters and sizes") {
  if (skipped()) return;
  const Scratch scratch;
  scratch.write("net.json", R"({"schema": "plimsoll.model-config", "version": 1, "name": "net",
"parameters": {"width": 64, "kind": {"one_of": ["relu", "tanh"]}},
"inputs": [{"name": "x", "shape": ["batch", 8]}],
"layers": [{"type": "linear", "out": "width"}, {"type": "kind"}, {"type": "linear", "out": 4}]})");
  const std::string plan = scratch.write("plan.json", R"({"model": "net.json", "parameters":
{"width": [64, 1024], "kind": ["relu", "tanh"], "batch": [1, 4096], "gpu": "l4"}})");
  const Ran ran = run_plimsoll({"sweep", plan, "--json"});
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  CHECK(ran.err.empty());
  std::set<int64_t> bytes;
  for (const json& line : lines_of(ran.out)) {
    if (line.contains("device_bytes")) bytes.insert(line["device_bytes"].get<int64_t>());
  }
  CHECK(bytes.size() >= 2);
}

TEST_CASE("cli sweep: true and false switch") {
  if (skipped()) return;
  const Ran ran = swept(
      "model: builtin:alexnet\n"
      "parameters: {cudnn_benchmark: [true, off], batch: 64, gpu: l4, weight_decay: [0, 0.1]}\n",
      {"--json"});
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  std::set<int64_t> bytes;
  for (const json& line : lines_of(ran.out)) {
    if (line.contains("device_bytes")) bytes.insert(line["device_bytes"].get<int64_t>());
  }
  CHECK(bytes.size() >= 2);  // timed plans take more scratch memory
}

TEST_CASE("cli sweep: compiled or not is a parameter, with estimate's answers") {
  if (skipped()) return;
  const Ran ran = swept(
      "model: builtin:resnet18\n"
      "parameters: {gpu: l4, batch: 8, compile: [true, false, 'on']}\n",
      {"--json"});
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  std::vector<json> points;
  for (const json& line : lines_of(ran.out)) {
    if (line.contains("step_ns")) points.push_back(line);
  }
  REQUIRE(points.size() == 3);
  CHECK(points[0]["step_ns"] < points[1]["step_ns"]);
  CHECK(points[0]["step_ns"] == points[2]["step_ns"]);
  const Ran one = run_plimsoll(
      {"estimate", "builtin:resnet18", "--gpu", "l4", "--batch", "8", "--compile", "--json"});
  CAPTURE(one.err);
  REQUIRE(one.status == 0);
  const json result = json::parse(one.out)["result"];
  CHECK(points[0]["step_ns"] == result["time"]["step_ns"]);
  CHECK(points[0]["device_bytes"] == result["memory"]["device_bytes"]);
}

TEST_CASE("cli sweep: what is frozen is a parameter, several patterns with commas") {
  if (skipped()) return;
  const Ran ran = swept(
      "model: builtin:alexnet\n"
      "parameters: {gpu: l4, batch: 8, freeze: [none, 'features.*', 'features.*, *.weight']}\n",
      {"--json", "--memory-only"});
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  std::vector<int64_t> bytes;
  for (const json& line : lines_of(ran.out)) {
    if (line.contains("device_bytes")) bytes.push_back(line["device_bytes"].get<int64_t>());
  }
  REQUIRE(bytes.size() == 3);
  CHECK(bytes[0] > bytes[1]);
  CHECK(bytes[1] > bytes[2]);
}

TEST_CASE("cli sweep: plans that cannot be swept") {
  if (skipped()) return;
  struct Row {
    const char* plan;
    int status;
    const char* code;
    const char* message;
    std::vector<std::string> flags = {};
  };
  const std::vector<Row> rows = {
      {"parameters: {gpu: l4}\n", 2, "E108", "--model"},
      {"model: builtin:mlp\nparameters: {batch: 8}\n", 2, "E109", "--gpu ID"},
      {"model: builtin:mlp\nparameters: {gpu: l5}\n", 2, "E140", "p.yaml:2:19: "},
      {"model: builtin:mlp\nparameters: {gpu: l4, batch: 0}\n", 2, "E103", "p.yaml:2:30: "},
      {"model: builtin:mlp\nparameters: {gpu: l4, batch: many}\n", 2, "E103", "p.yaml:2:30: "},
      {"model: builtin:mlp\nparameters: {gpu: l4, optimizer: [adam, adan]}\n", 2, "E106",
       "p.yaml:2:41: "},
      {"model: builtin:mlp\nparameters: {gpu: l4, framework: torhc}\n", 2, "E143", "p.yaml:2:34: "},
      {"model: builtin:mlp\nparameters: {gpu: l4, weight_decay: some}\n", 2, "E103",
       "p.yaml:2:37: "},
      {"model: builtin:mlp\nparameters: {gpu: l4, compile: inductor}\n", 2, "E103",
       "p.yaml:2:32: "},
      {"model: builtin:mlp\nparameters: {gpu: l4, batch: 8}\n",
       2,
       "E114",
       "--batch and",
       {"--batch", "8"}},
      {"model: builtin:bert-base\nparameters: {gpu: l4, sequence: 8}\n",
       2,
       "E114",
       "given by a flag too",
       {"--dim", "sequence=64"}},
      {"model: builtin:gpt2\nparameters: {gpu: l4, layers: 2}\n",
       2,
       "E114",
       "given by a flag too",
       {"--set", "layers=3"}},
      {"model: builtin:mlp\nparameters: {gpu: l4, batch: 8, batch_size: 9}\n", 2, "E114",
       "one parameter"},
      {"model: builtin:mlp\nparameters: {gpu: l4, weight_decay: 0, weight-decay: 1}\n", 2, "E114",
       "one parameter"},
      {"model: builtin:mlp\nparameters: {gpu: l4, model: [a, b]}\n", 2, "E164",
       "a sweep has one model"},
      {"model: builtin:mlp\nparameters: {gpu: l4, batch: {min: 0.5, max: 1.5}}\n", 3, "E311",
       "distribution"},
      {"model: builtin:mlp\nparameters: {gpu: l4}\n",
       2,
       "E112",
       "--lengths",
       {"--lengths", "sequence=1"}},
      {"model: '-'\nparameters: {gpu: l4}\n", 2, "E112", "more than once", {"--model", "-"}},
      {"model: none.onnx\nparameters: {gpu: l4}\n", 4, "E601", "none.onnx"},
      {"model: builtin:mlp\nparameters: {gpu: l4, batch: {min: 1, max: 9}}\n",
       5,
       "E818",
       "--limit sweep=N",
       {"--limit", "sweep=8"}},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.plan));
    const Ran ran = swept(row.plan, row.flags);
    CAPTURE(ran.err);
    CHECK(ran.status == row.status);
    CHECK(ran.out.empty());
    CHECK(ran.err.find(std::string("[") + row.code + "]") != std::string::npos);
    CHECK(ran.err.find(row.message) != std::string::npos);
  }
}

// Row G6.
TEST_CASE("cli sweep: a pipe that nobody reads ends it in silence") {
  if (skipped()) return;
  const Scratch scratch;
  scratch.write("p.yaml",
                "model: builtin:mlp\nparameters: {gpu: l4, batch: {min: 1, max: 9999}}\n");
  const std::string script = "{ " + std::string(plimsoll_binary()) +
                             " sweep p.yaml --json --memory-only; echo $? > status; } 2> err | "
                             "head -n 1 > out";
  const std::string command = "cd " + scratch.path("") + " && sh -c '" + script + "'";
  CHECK(std::system(command.c_str()) == 0);
  CHECK(detail::text_of(scratch.path("status")) == "141\n");
  CHECK(detail::text_of(scratch.path("err")).empty());
  CHECK(detail::text_of(scratch.path("out")).starts_with("{"));
}

TEST_CASE(
    "cli sweep: some by chance or the first, as the whole grid has them; other methods refused") {
  if (skipped()) return;
  const auto by_number = [](const Ran& ran) {
    std::map<int, json> lines;
    for (const json& line : lines_of(ran.out)) {
      if (line.contains("configuration")) lines[line["configuration"].get<int>()] = line;
    }
    return lines;
  };
  const std::map<int, json> whole = by_number(swept(kSmallPlan, {"--json"}));
  REQUIRE(whole.size() == 24);
  const Ran random = swept("method: random\nrun_cap: 7\nseed: 3\n" + kSmallPlan, {"--json"});
  CHECK(random.status == 0);
  const std::map<int, json> some = by_number(random);
  CHECK(some.size() == 7);
  for (const auto& [number, line] : some) CHECK(line == whole.at(number));
  CHECK(lines_of(random.out).back()["result"]["configurations"] == 7);
  const Ran again = swept("method: random\nrun_cap: 7\n" + kSmallPlan, {"--json", "--seed=3"});
  CHECK(by_number(again) == some);
  const Ran other = swept("method: random\nrun_cap: 7\n" + kSmallPlan, {"--json", "--seed=4"});
  CHECK(by_number(other) != some);
  const Ran first = swept("run_cap: 5\n" + kSmallPlan, {"--json"});
  CHECK(by_number(first).size() == 5);
  CHECK(by_number(first).rbegin()->first == 4);
  CHECK(swept("method: random\nrun_cap: 7\n" + kSmallPlan, {"--dry-run"})
            .out.starts_with("7, by chance with seed 0, of 24 configurations: "));
  const Ran bayes = swept("method: bayes\n" + kSmallPlan);
  CHECK(bayes.status == 3);
  CHECK(bayes.err.find("bayes is not done") != std::string::npos);
  CHECK(swept(kSmallPlan, {"--seed=3"}).status == 2);
}
