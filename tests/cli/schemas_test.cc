// Every verb that writes JSON has a schema that `plimsoll schema` prints, and writes what it says.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "tests/support/run_plimsoll.h"
#include "tests/support/schema_fault.h"

using namespace plimsoll::test;

namespace {

using nlohmann::json;

// The verbs that completion knows.
std::vector<std::string> all_verbs() {
  std::istringstream words(run_plimsoll({"completion", "words", "--", ""}).out);
  std::vector<std::string> verbs;
  for (std::string word; words >> word;) {
    if (!word.starts_with('-')) verbs.push_back(word);
  }
  return verbs;
}

json schema_named(const std::string& name) {
  const Ran ran = run_plimsoll({"schema", name});
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out);
}

}  // namespace

TEST_CASE("cli: every verb with --json has a schema") {
  if (skipped()) return;
  const auto verbs = all_verbs();
  REQUIRE(verbs.size() > 10);
  size_t with = 0;
  for (const std::string& verb : verbs) {
    if (run_plimsoll({verb, "--help-all"}).out.find("--json") == std::string::npos) continue;
    CAPTURE(verb);
    ++with;
    CHECK(schema_named(verb).is_object());
  }
  CHECK(with >= 12);
}

TEST_CASE("cli: what verbs write is what their schemas say") {
  if (skipped()) return;
  struct Asked {
    std::string schema;
    std::vector<std::string> arguments;
  };
  const std::vector<Asked> all = {
      {"compare", {"compare", "builtin:alexnet", "--gpu", "t4", "--gpu", "l4", "--json"}},
      {"explain", {"explain", "E241", "--json"}},
      {"explain", {"explain", "features", "builtin:alexnet", "--gpu", "l4", "--json"}},
      {"explain", {"explain", "allocated,nvidia-smi", "builtin:alexnet", "--gpu", "l4", "--json"}},
      {"gpus", {"gpus", "--json"}},
      {"gpus", {"gpus", "a100", "--json"}},
      {"hosts", {"hosts", "--json"}},
      {"hosts", {"hosts", "generic", "--json"}},
      {"links", {"links", "--json"}},
      {"links", {"links", "nvlink-2", "--json"}},
      {"links", {"links", "pcie-3-x16", "nvlink-2", "--bytes", "250MB", "--json"}},
      {"scaling", {"estimate", "builtin:alexnet", "--gpu", "l4", "--gpus", "1..3", "--json"}},
      {"workspace-limits",
       {"estimate", "builtin:alexnet", "--gpu", "t4", "--workspace-limit", "sweep", "--json"}},
      {"frameworks", {"frameworks", "--json"}},
      {"frameworks", {"frameworks", "pytorch-2", "--json"}},
      {"ops", {"ops", "--json"}},
      {"version", {"version", "--json"}},
  };
  for (const Asked& asked : all) {
    const std::string& second = asked.arguments[1];
    CAPTURE(asked.schema);
    CAPTURE(second);
    json document = json::parse(run_plimsoll(asked.arguments).out);
    const json schema = schema_named(asked.schema);
    CHECK(schema_fault(schema, document) == "");
    if (document.is_object()) document["more"] = 1;
    if (document.is_array()) document.push_back(1);
    CHECK(schema_fault(schema, document) != "");
  }
}

TEST_CASE("cli: a question to workspace and its answer are what their schemas say") {
  if (skipped()) return;
  const json answer = schema_named("workspace"), problem = schema_named("workspace-problem");
  const auto line = [](const char* pass, int k, int group) {
    return json{{"pass", pass}, {"n", 32}, {"c", 64},    {"h", 56},    {"w", 56},        {"k", k},
                {"r", 3},       {"s", 3},  {"pad_h", 1}, {"pad_w", 1}, {"groups", group}};
  };
  for (const char* pass : {"fprop", "dgrad", "wgrad"}) {
    for (const int k : {64, 67}) {
      const json asked = line(pass, k, 1);
      CHECK(schema_fault(problem, asked) == "");
      for (const char* gpu : {"t4", "titan-xp", "h100"}) {
        const Ran ran = run_plimsoll({"workspace", "--gpu", gpu}, {.input = asked.dump() + "\n"});
        CAPTURE(gpu);
        CAPTURE(ran.out);
        REQUIRE(ran.status == 0);
        CHECK(schema_fault(answer, json::parse(ran.out)) == "");
      }
    }
  }
  json wrong = line("fprop", 64, 1);
  wrong["pads"] = 1;
  CHECK(schema_fault(problem, wrong) != "");
  CHECK(run_plimsoll({"workspace", "--gpu", "t4"}, {.input = wrong.dump() + "\n"}).status == 3);
}
