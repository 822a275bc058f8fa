#include "estimator/app/sweep/filtered_plan.h"
#include "estimator/app/sweep/read_sweep_plan.h"
#include "estimator/settings/json_texts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

using namespace plimsoll;

namespace {

using Configurations = std::vector<std::vector<size_t>>;

Configurations all_of(const PlanGrid& grid) {
  Configurations all = {{}};
  for (const std::vector<size_t>& values : grid) {
    Configurations longer;
    for (const auto& one : all) {
      for (const size_t value : values) {
        longer.push_back(one);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::string same(const std::string& model) { return model; }

// The plan with some of its configurations, read again: their parameters as text, sorted.
std::set<std::string> read_again(const SweepPlan& plan, const Configurations& kept,
                                 const char* file) {
  std::set<std::string> found;
  for (const PlanGrid& grid : grids_of(kept)) {
    const auto again = read_sweep_plan(write_plan(plan, grid, same), file, {});
    REQUIRE_MESSAGE(again, again.error().front().message << "\n" << write_plan(plan, grid, same));
    CHECK(again->syntax == plan.syntax);
    REQUIRE(again->parameters.size() == plan.parameters.size());
    for (int64_t number = 0; number < again->configurations({}).value(); ++number) {
      std::string text;
      const auto at = again->values_of(number);
      for (size_t i = 0; i < at.size(); ++i) {
        const SweepParameter& parameter = again->parameters[i];
        if (!parameter.values.empty())
          text += parameter.name + "=" + text_of(parameter.values[at[i]]) + " ";
      }
      CHECK(found.insert(text).second);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("filtered plan: grids have each of the configurations once, and no other") {
  std::mt19937 chance(7);
  for (int round = 0; round < 50; ++round) {
    Configurations kept;
    for (const auto& one : all_of({{0, 1, 2}, {0, 1}, {0, 1, 2, 3}})) {
      if (chance() % 3 != 0) kept.push_back(one);
    }
    Configurations covered;
    for (const PlanGrid& grid : grids_of(kept)) {
      const Configurations here = all_of(grid);
      covered.insert(covered.end(), here.begin(), here.end());
    }
    std::ranges::sort(covered);
    CHECK(covered == kept);
  }
  CHECK(grids_of(all_of({{0, 2}, {1}, {0, 3}})) == std::vector<PlanGrid>{{{0, 2}, {1}, {0, 3}}});
  CHECK(grids_of({}).empty());
}

TEST_CASE("filtered plan: in the form that it came in, and read again it has what was kept") {
  const std::pair<const char*, const char*> forms[] = {
      {"p.yaml",
       "program: train.py\nmethod: random\nrun_cap: 3\nseed: 5\nmodel: [builtin:a, builtin:b]\n"
       "parameters:\n  batch: {min: 1, max: 3}\n  gpu: [t4, 'l4']\n  lr: {value: 0.10}\n"
       "  note: 'yes'\nconstraints: batch < 3\n"},
      {"p.json", R"({"method": "grid", "parameters": {"batch": {"values": [1, 2, 3]},
        "gpu": ["t4", "l4"], "cudnn_benchmark": [true, false]}})"},
      {"p.json",
       R"({"batch": {"name": "IntDistribution", "attributes": {"low": 1, "high": 5, "step": 2,
        "log": false}}, "gpu": {"name": "CategoricalDistribution", "attributes": {"choices": ["t4", "l4"]}},
        "lr": {"name": "FloatDistribution", "attributes": {"low": 0.1, "high": 1.0, "step": null, "log": true}}})"},
      {"p.yaml",
       "defaults: [_self_]\nmodel: builtin:mlp\nbatch: 8\noptimizer: {name: adam}\n"
       "hydra:\n  mode: MULTIRUN\n  sweeper:\n    params:\n      batch: 1,2,3\n"
       "      +gpu: choice(t4, l4)\n      width: range(1,7,3)\n"},
  };
  for (const auto& form : forms) {
    CAPTURE(std::string(form.second));
    const auto plan = read_sweep_plan(form.second, form.first, {});
    REQUIRE_MESSAGE(plan, plan.error().front().message);
    Configurations kept;
    std::set<std::string> wanted;
    for (int64_t number = 0; number < plan->configurations({}).value(); ++number) {
      if (number % 3 == 1) continue;
      kept.push_back(plan->values_of(number));
      std::string line;
      for (size_t i = 0; i < plan->parameters.size(); ++i) {
        const SweepParameter& parameter = plan->parameters[i];
        if (!parameter.values.empty())
          line += parameter.name + "=" + text_of(parameter.values[kept.back()[i]]) + " ";
      }
      wanted.insert(line);
    }
    CHECK(read_again(*plan, kept, form.first) == wanted);
  }
}

TEST_CASE("filtered plan: what chooses is left out, what is drawn stays, models are renamed") {
  const auto plan = read_sweep_plan(
      "method: random\nrun_cap: 3\nmodel: net.onnx\nname: mine\n"
      "parameters: {batch: [1, 2], lr: {distribution: uniform, min: 0, max: 1}}\n",
      "p.yaml", {});
  REQUIRE(plan);
  const std::string text =
      write_plan(*plan, {{1}, {}}, [](const std::string& model) { return "../" + model; });
  CHECK(text ==
        "method: random\nmodel: \"../net.onnx\"\nname: mine\nparameters:\n  batch: [2]\n"
        "  lr:\n    distribution: uniform\n    min: 0\n    max: 1\n");
}
