// Which of a plan's configurations are swept, and plans that cannot be.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/swept.h"

using namespace plimsoll::test;
using nlohmann::json;

namespace {

struct BadPlan {
  const char* plan;
  int status;
  const char* code;
  const char* message;
  std::vector<std::string> flags = {};
};
const std::vector<BadPlan> kBadPlans = {
    {"parameters: {gpu: l4}\n", 2, "E108", "--model"},
    {"model: builtin:mlp\nparameters: {batch: 8}\n", 2, "E109", "--gpu ID"},
    {"model: builtin:mlp\nparameters: {gpu: l5}\n", 2, "E140", "p.yaml:2:19: "},
    {"model: builtin:mlp\nparameters: {gpu: l4, batch: 0}\n", 2, "E103", "p.yaml:2:30: "},
    {"model: builtin:mlp\nparameters: {gpu: l4, batch: many}\n", 2, "E103", "p.yaml:2:30: "},
    {"model: builtin:mlp\nparameters: {gpu: l4, optimizer: [adam, adan]}\n", 2, "E106",
     "p.yaml:2:41: "},
    {"model: builtin:mlp\nparameters: {gpu: l4, framework: torhc}\n", 2, "E143", "p.yaml:2:34: "},
    {"model: builtin:mlp\nparameters: {gpu: l4, weight_decay: some}\n", 2, "E103", "p.yaml:2:37: "},
    {"model: builtin:mlp\nparameters: {gpu: l4, compile: inductor}\n", 2, "E103", "p.yaml:2:32: "},
    {"model: builtin:mlp\nparameters: {gpu: l4, batch: 8}\n",
     2,
     "E114",
     "--batch and",
     {"--batch", "8"}},
    {"model: builtin:bert-base\nparameters: {gpu: l4, sequence: 8}\n",
     2,
     "E114",
     "given by an option too",
     {"--dim", "sequence=64"}},
    {"model: builtin:gpt2\nparameters: {gpu: l4, layers: 2}\n",
     2,
     "E114",
     "given by an option too",
     {"--set", "layers=3"}},
    {"model: builtin:mlp\nparameters: {gpu: l4, batch: 8, batch_size: 9}\n", 2, "E114",
     "one parameter"},
    {"model: builtin:mlp\nparameters: {gpu: l4, weight_decay: 0, weight-decay: 1}\n", 2, "E114",
     "one parameter"},
    {"model: builtin:mlp\nparameters: {gpu: l4, model: [a, b]}\n", 2, "E114", "exclude each other"},
    {"parameters: {gpu: l4, model: {distribution: normal}}\n", 3, "E311",
     "model is a distribution"},
    {"model: [builtin:bert-base, builtin:mlp]\nparameters: {gpu: l4, sequence: 8}\n", 2, "E164",
     "sequence is a dimension of builtin:bert-base, and not of builtin:mlp"},
    {"model: builtin:mlp\nparameters: {gpu: l4, batch: [8, 9]}\nconstraints: batch > 9\n", 3,
     "E323", "no configuration"},
    {"model: builtin:mlp\nparameters: {gpu: l4}\nobjective: {name: step_ns}\n",
     2,
     "E114",
     "objective is step_ns",
     {"--memory-only"}},
    {"model: builtin:mlp\nparameters: {gpu: l4}\n", 2, "E114", "--emit-to", {"--emit", "csv"}},
    {"model: builtin:mlp\nparameters: {gpu: l4}\n",
     2,
     "E106",
     "slurm, csv or plan",
     {"--emit", "pbs", "--emit-to", "x"}},
    {"model: builtin:mlp\nparameters: {gpu: l4, batch: {min: 0.5, max: 1.5}}\n", 3, "E311",
     "distribution"},
    {"model: builtin:mlp\nparameters: {gpu: l4}\n",
     2,
     "E112",
     "--lengths",
     {"--lengths", "sequence=1"}},
    {"model: builtin:mlp\nparameters: {gpu: l4, trainer: [a.json, hf]}\n", 3, "E311",
     "takes one file"},
    {"model: builtin:mlp\nparameters: {gpu: l4, trainer: a.json}\n",
     2,
     "E114",
     "--trainer and the plan's trainer",
     {"--trainer", "hf"}},
    {"model: builtin:mlp\ntrainer: hf\nparameters: {gpu: l4}\n", 3, "E304",
     "\"trainer\" is outside"},
    {"model: '-'\nparameters: {gpu: l4}\n", 2, "E112", "more than once", {"--model", "-"}},
    {"model: none.onnx\nparameters: {gpu: l4}\n", 4, "E601", "none.onnx"},
    {"model: builtin:mlp\nparameters: {gpu: l4, batch: {min: 1, max: 9}}\n",
     5,
     "E818",
     "--limit sweep=N",
     {"--limit", "sweep=8"}},
};

}  // namespace

TEST_CASE("cli sweep: plans that cannot be swept") {
  if (skipped()) return;
  for (const BadPlan& row : kBadPlans) {
    CAPTURE(std::string(row.plan));
    const Ran ran = swept(row.plan, row.flags);
    CAPTURE(ran.err);
    CHECK(ran.status == row.status);
    CHECK(ran.out.empty());
    CHECK(ran.err.find(std::string("[") + row.code + "]") != std::string::npos);
    CHECK(ran.err.find(row.message) != std::string::npos);
  }
}

TEST_CASE(
    "cli sweep: a plan's file of a training program, beside the plan; the plan wins over it") {
  if (skipped()) return;
  const Scratch scratch;
  scratch.write("args.json", R"({"per_device_train_batch_size": 5, "optim": "adafactor"})");
  const std::string plan =
      scratch.write("p.yaml",
                    "model: builtin:mlp\n"
                    "parameters: {gpu: l4, trainer: args.json, batch: [2, 4]}\n"
                    "constraints: trainer == 'args.json' and batch > 2\n");
  const Ran ran = run_plimsoll({"sweep", plan, "--json"});
  CHECK(ran.status == 0);
  CHECK(says(ran, "optimizer adafactor of "));
  CHECK(ran.out.find(R"("trainer":"args.json")") != ran.out.npos);
  CHECK(ran.out.find(R"("batch":4)") != ran.out.npos);
  CHECK(ran.out.find(R"("batch":2)") == ran.out.npos);
}

TEST_CASE("cli sweep: constraints leave configurations out, and chance is among the others") {
  if (skipped()) return;
  const std::string plan =
      kSmallPlan + "constraints: [\"batch_size < 64 or gpu == 'p4000'\", \"optimizer != 'sgd'\"]\n";
  std::set<int> within;
  for (const json& line : lines_of(swept(plan, {"--json"}).out)) {
    if (!line.contains("configuration")) continue;
    within.insert(line["configuration"].get<int>());
    const json& p = line["parameters"];
    CHECK(p["optimizer"] == "adam");
    CHECK((p["batch_size"] == 8 || p["gpu"] == "p4000"));
  }
  CHECK(within.size() == 3 * 3);
  const Ran some = swept("method: random\nrun_cap: 4\n" + plan, {"--json"});
  const std::vector<json> lines = lines_of(some.out);
  REQUIRE(lines.size() == 5);
  for (size_t i = 0; i < 4; ++i) CHECK(within.contains(lines[i]["configuration"].get<int>()));
  CHECK(swept(plan, {"--dry-run"})
            .out.starts_with("9, within the constraints, of 24 configurations: "));
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
            .out.starts_with("7, random with seed 0, of 24 configurations: "));
  const Ran bayes = swept("method: bayes\n" + kSmallPlan);
  CHECK(bayes.status == 3);
  CHECK(bayes.err.find("\"method\" cannot be \"bayes\"; allowed: grid, random") !=
        std::string::npos);
  CHECK(swept(kSmallPlan, {"--seed=3"}).status == 2);
}
