#include "estimator/app/sweep/read_sweep_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "estimator/settings/json_texts.h"
#include "tests/support/refusal.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

std::string values_of(const SweepParameter& parameter) {
  std::string text;
  for (const JsonValue& value : parameter.values) text += text_of(value) + " ";
  return text;
}

}  // namespace

TEST_CASE("sweep plan: values, a value, ranges, distributions; other tools' keys") {
  const auto plan = read_sweep_plan(
      "program: train.py\n"
      "method: random\n"
      "metric: {name: loss, goal: minimize}\n"
      "model: net.onnx\n"
      "parameters:\n"
      "  batch: {values: [64, 128]}\n"
      "  image: {min: 200, max: 230, step: 15}\n"
      "  heads: {min: 1, max: 3, distribution: int_uniform}\n"
      "  precision: [fp32, amp-bf16]\n"
      "  optimizer: adam\n"
      "  momentum: {value: 0.90}\n"
      "  cudnn_benchmark: [true, false]\n"
      "  learning_rate: {min: 0.0001, max: 0.1}\n"
      "  noise: {distribution: normal, mu: 0, sigma: 1}\n",
      "plan.yaml", {});
  REQUIRE(plan);
  CHECK(plan->model == "net.onnx");
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"batch", "64 128 "},
      {"image", "200 215 230 "},
      {"heads", "1 2 3 "},
      {"precision", "fp32 amp-bf16 "},
      {"optimizer", "adam "},
      {"momentum", "0.90 "},
      {"cudnn_benchmark", "true false "},
      {"learning_rate", ""},
      {"noise", ""}};
  REQUIRE(plan->parameters.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(plan->parameters[i].name == expected[i].first);
    CHECK(values_of(plan->parameters[i]) == expected[i].second);
  }
  CHECK(plan->parameters[1].place.line == 7);
  CHECK(plan->configurations({}) == 2 * 3 * 3 * 2 * 2);
}

TEST_CASE("sweep plan: Optuna's search space") {
  const auto plan = read_sweep_plan(
      R"({"batch": {"name": "IntDistribution", "attributes": {"log": false, "step": 16, "low": 16, "high": 64}},
          "gpu": {"name": "CategoricalDistribution", "attributes": {"choices": ["t4", "l4"]}},
          "drop": {"name": "FloatDistribution", "attributes": {"step": 0.1, "low": 0.1, "high": 0.3, "log": false}},
          "width": {"name": "IntDistribution", "attributes": {"log": true, "step": 1, "low": 16, "high": 64}},
          "lr": {"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}},
          "model": "builtin:mlp", "run_cap": 5, "objective": {"name": "device_bytes"}})",
      "space.json", {});
  REQUIRE_MESSAGE(plan, plan.error().front().message);
  CHECK(plan->syntax == PlanSyntax::kOptuna);
  CHECK(plan->model == "builtin:mlp");
  CHECK(plan->run_cap == 5);
  REQUIRE(plan->objective);
  CHECK_FALSE(plan->objective->maximize);
  const char* expected[] = {"16 32 48 64 ", "t4 l4 ", "0.1 0.2 0.3 ", "", ""};
  REQUIRE(plan->parameters.size() == 5);
  for (size_t i = 0; i < 5; ++i) CHECK(values_of(plan->parameters[i]) == expected[i]);
}

TEST_CASE("sweep plan: Hydra's config, with its own sweeper and with Optuna's") {
  const auto plan = read_sweep_plan(
      "defaults: [_self_, {override hydra/sweeper: optuna}]\n"
      "model: builtin:mlp\nbatch: 8\nprecision: fp32\nopt: {name: adam, lr: 0.1, betas: [0.9, "
      "0.99]}\n"
      "constraints: [batch < 64]\n"
      "hydra:\n  mode: MULTIRUN\n  sweep: {dir: out}\n  sweeper:\n"
      "    _target_: hydra_plugins.hydra_optuna_sweeper.optuna_sweeper.OptunaSweeper\n"
      "    sampler: {_target_: optuna.samplers.RandomSampler, seed: 7}\n    n_trials: 3\n"
      "    direction: minimize\n    params:\n      batch: range(16, 81, 16)\n"
      "      +gpu: choice(t4, l4)\n      opt.lr: interval(0.001, 0.1)\n",
      "config.yaml", {});
  REQUIRE_MESSAGE(plan, plan.error().front().message);
  CHECK(plan->syntax == PlanSyntax::kHydra);
  CHECK(plan->model == "builtin:mlp");
  CHECK((plan->random && plan->run_cap == 3 && plan->seed == 7));
  const std::pair<const char*, const char*> expected[] = {{"batch", "16 32 48 64 80 "},
                                                          {"gpu", "t4 l4 "},
                                                          {"opt.lr", ""},
                                                          {"precision", "fp32 "},
                                                          {"opt.name", "adam "}};
  REQUIRE(plan->parameters.size() == 5);
  for (size_t i = 0; i < 5; ++i) {
    CHECK(plan->parameters[i].name == expected[i].first);
    CHECK(values_of(plan->parameters[i]) == expected[i].second);
  }
  const auto chosen = plan->chosen(plan->configurations({}).value());
  REQUIRE(chosen);
  CHECK(chosen->size() == 3);
  for (const int64_t number : *chosen) CHECK(plan->values_of(number)[0] < 3);  // batches below 64
}

TEST_CASE("sweep plan: draws from a range are no list of it") {
  const auto plan = read_sweep_plan(
      "parameters:\n  a: {min: 0, max: 1, distribution: uniform}\n  b: {min: 1, max: 3}\n"
      "  c: {min: 8, max: 64, q: 8, distribution: q_uniform}\n",
      "p.yaml", {});
  REQUIRE(plan);
  CHECK(values_of(plan->parameters[0]).empty());
  CHECK(values_of(plan->parameters[1]) == "1 2 3 ");
  CHECK(values_of(plan->parameters[2]).empty());
}

TEST_CASE("sweep plan: so many by chance, always the same ones, each once and all as likely") {
  const std::string text = "method: random\nrun_cap: 8\nparameters: {batch: {min: 1, max: 20}}\n";
  auto plan = read_sweep_plan(text, "p.yaml", {});
  REQUIRE(plan);
  CHECK(plan->seed == 0);
  std::vector<int> often(20);
  std::set<std::vector<int64_t>> draws;
  for (plan->seed = 0; plan->seed < 1000; ++plan->seed) {
    const auto numbers = plan->chosen(20).value();
    REQUIRE(numbers.size() == 8);
    CHECK(std::set(numbers.begin(), numbers.end()).size() == 8);
    CHECK(std::ranges::is_sorted(numbers));
    CHECK(numbers == plan->chosen(20));
    for (const int64_t number : numbers) ++often.at(static_cast<size_t>(number));
    draws.insert(numbers);
  }
  CHECK(draws.size() > 900);
  // 400 each, six standard deviations of 15.
  for (const int times : often) CHECK(std::abs(times - 400) < 93);
  CHECK(!plan->chosen(8));
  plan->random = false;
  CHECK(plan->chosen(20) == std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7});
  plan->run_cap.reset();
  CHECK(!plan->chosen(20));
}

TEST_CASE("sweep plan: YAML by its name, JSON by its brace") {
  CHECK(read_sweep_plan(R"({"parameters": {"batch": [1]}})", "-", {}));
  CHECK(read_sweep_plan("{parameters: {batch: [1]}}", "plan.yml", {}));
  CHECK(read_sweep_plan("parameters: {batch: [1]}", "-", {}));
  CHECK_FALSE(read_sweep_plan("parameters: {batch: [1]}", "plan.json", {}));
  const auto none = read_sweep_plan("parameters: {}", "-", {});
  REQUIRE(none);
  CHECK(none->configurations({}) == 1);
}

TEST_CASE("sweep plan: what it refuses, and where") {
  for (const Refusal& refusal : {
           Refusal{"model: x\n", "E306", 1, 1},
           Refusal{"model: x\ngpu: [t4, l4]\nbatch: 8\n", "E306", 1, 1},
           Refusal{"[1]", "E331", 1, 1},
           Refusal{"parameters: 3\n", "E311", 1, 13},
           Refusal{"parameters: {}\nparamters: {}\n", "E304", 2, 1},
           Refusal{"method: bayes\nparameters: {}\n", "E313", 1, 9},
           Refusal{"method: 3\nparameters: {}\n", "E311", 1, 9},
           Refusal{"run_cap: 0\nparameters: {}\n", "E312", 1, 10},
           Refusal{"seed: -1\nparameters: {}\n", "E312", 1, 7},
           Refusal{"parameters:\n  batch: []\n", "E311", 2, 10},
           Refusal{"parameters:\n  batch: [1, [2]]\n", "E311", 2, 14},
           Refusal{"parameters:\n  batch: ~\n", "E311", 2, 10},
           Refusal{"parameters:\n  batch: {values: 3}\n", "E311", 2, 19},
           Refusal{"parameters:\n  batch: {min: 3}\n", "E311", 2, 10},
           Refusal{"parameters:\n  batch: {min: 3, max: 2}\n", "E312", 2, 24},
           Refusal{"parameters:\n  batch: {min: 1, max: 9, step: 0}\n", "E312", 2, 33},
           Refusal{"parameters:\n  batch: {min: 1, max: 9, stop: 2}\n", "E304", 2, 27},
           Refusal{"parameters:\n  x: {parameters: {y: {value: 1}}}\n", "E311", 2, 6},
           Refusal{"parameters:\n  batch: {min: 1, max: 9000000000}\n", "E807", 2, 16},
           Refusal{"parameters:\n  x: {distribution: cauchy}\n", "E311", 2, 6},
           Refusal{"method: random\nparameters:\n  x: {values: [1], probabilities: [1]}\n", "E311",
                   3, 6},
           Refusal{"model: {a: 1}\nparameters: {}\n", "E311", 1, 8},
           Refusal{"parameters: {a: [1, 2]}\nconstraints: [b < 1]\n", "E324", 2, 15},
           Refusal{"parameters: {a: [1, 2]}\nconstraints: 3\n", "E324", 2, 14},
           Refusal{"parameters: {}\nobjective: {name: loss}\n", "E313", 2, 19},
           Refusal{"parameters: {}\nobjective: {name: step_ns, gaol: minimize}\n", "E304", 2, 28},
           Refusal{"a: {name: NormalDistribution, attributes: {}}\n", "E311", 1, 4},
           Refusal{"a: {name: IntDistribution, attributes: {low: 1}}\n", "E306", 1, 40},
           Refusal{"a: {name: IntDistribution, attributes: {low: 0.5, high: 2}}\n", "E311", 1, 46},
           Refusal{"a: {name: CategoricalDistribution, attributes: {choices: [1]}}\nb: 3\n", "E304",
                   2, 1},
           Refusal{"hydra: {sweeper: {params: {x: 'glob(*)'}}}\n", "E311", 1, 31},
           Refusal{"hydra: {sweeper: {params: {~x: 1}}}\n", "E311", 1, 32},
           Refusal{"hydra: {sweeper: {params: [1]}}\n", "E311", 1, 27},
           Refusal{"hydra: {sweeper: {n_trials: 20, params: {x: '1,2'}}}\n", "E311", 1, 29},
           Refusal{"hydra: {sweeper: {sampler: {_target_: optuna.samplers.TPESampler}}}\n", "E311",
                   1, 28},
           Refusal{"hydra: {sweeper: {parms: {x: 1}}}\n", "E304", 1, 19},
           Refusal{"defaults: [db: mysql]\nhydra: {}\n", "E311", 1, 12},
       }) {
    check_refused(read_sweep_plan(refusal.text, "p.yaml", {}), refusal, "p.yaml");
  }
}

TEST_CASE("sweep plan: more configurations than the limit") {
  std::string text = "parameters:\n";
  for (int i = 0; i < 70; ++i) text += "  p" + std::to_string(i) + ": [1, 2]\n";
  const auto plan = read_sweep_plan(text, "p.yaml", {});
  REQUIRE(plan);
  const auto count = plan->configurations({});
  REQUIRE_FALSE(count);
  CHECK(count.error().front().code == "E818");
  CHECK(count.error().front().place.line == 2 + 26);  // 2^27 are too many
}
