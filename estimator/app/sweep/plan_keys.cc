#include "estimator/app/sweep/plan_keys.h"

#include <algorithm>

#include "estimator/app/sweep/plan_parameter.h"
#include "graph/json/schema_fields.h"
#include "graph/json/schema_writer.h"

namespace plimsoll {
namespace {

constexpr std::string_view kMethods[] = {"grid", "random"};
constexpr std::string_view kGoals[] = {"maximize", "minimize"};

}  // namespace

void describe(Fields& f, Objective& objective) {
  std::string figure{name(objective.figure)}, goal;
  f("name", figure, {.words = kObjectiveFigures});
  f("goal", goal,
    {.meaning = "without it: more samples per second, less time or memory",
     .absent_where = false,
     .words = kGoals});
  const auto at = std::ranges::find(kObjectiveFigures, figure);
  objective.figure = static_cast<Objective::Figure>(at - kObjectiveFigures.begin());
  objective.maximize =
      goal.empty() ? objective.figure == Objective::Figure::kSamplesPerSecond : goal == kGoals[0];
}

void describe_search(Fields& f, SweepPlan& plan) {
  std::string method{kMethods[plan.random]};
  f("method", method, {.absent_where = false, .words = kMethods});
  plan.random = method == kMethods[1];
  f("run_cap", plan.run_cap,
    {.meaning = "number of configurations: drawn at random, or the first ones of a grid",
     .absent_where = false,
     .low = 1});
  f("seed", plan.seed, {.meaning = "seed of method random; by default 0", .absent_where = false});
}

void describe_objective(Fields& f, SweepPlan& plan) {
  f("objective", plan.objective,
    {.meaning =
         "the figure that result.best of the sweep maximizes or minimizes, among configurations "
         "that fit",
     .absent_where = false});
}

namespace {

class PlanSchema : SchemaWriter {
 public:
  PlanSchema() : SchemaWriter("definitions") {}

  std::string text() {
    out_.begin_object();
    out_.key("$schema").string("http://json-schema.org/draft-07/schema#");
    out_.key("title").string("A plan of plimsoll sweep, as YAML or JSON");
    out_.key("description")
        .string(
            "The grid of all parameters, or a part of it. Plans of Weights & Biases, search spaces "
            "of Optuna and configs of Hydra are read too. Keys that are not supported are errors.");
    out_.key("type").string("object");
    object("properties", [&] { write_keys(); });
    list("anyOf", [&] { write_tools(); });
    object("definitions", [&] { write_values(); });
    return out_.end_object().take() + "\n";
  }

 private:
  void needs(Words keys) { out_.key("required").strings(keys); }
  void words(const auto& all) { out_.key("enum").strings(all); }
  template <class Of>
  void is_list(Of of) {
    is({"array"});
    out_.key("minItems").integer(1);
    object("items", of);
  }
  template <class Of>
  void one_or_more(Of of) {
    one(of);
    one([&] { is_list(of); });
  }

  void write_keys() {
    const auto text = [&] { is({"string"}); };
    object("model", [&] {
      means(
          "a file, as seen from the plan's folder, or builtin:NAME; several are the first "
          "parameter; an object of a config of Hydra's");
      list("anyOf", [&] {
        one_or_more(text);
        one([&] { is({"object"}); });
      });
    });
    SchemaFields f(out_);
    SweepPlan any;
    describe_search(f, any);
    describe_objective(f, any);
    object("constraints", [&] {
      means(
          "conditions on parameters, all of which hold: \"batch * accumulate <= 512 and gpu != "
          "'t4'\"");
      list("anyOf", [&] { one_or_more(text); });
    });
    object("hydra", [&] {
      means(
          "a config of Hydra's: sweeper.params has the parameters (choice, range, interval, lists "
          "with commas), the config's other words and numbers are a value each; Optuna's sampler "
          "may be a RandomSampler with n_trials, or a GridSampler");
      is({"object"});
    });
    object("parameters", [&] {
      means(
          "any setting, any dimension of the model and any parameter of a config; others are "
          "carried through");
      is({"object"});
      object("additionalProperties", [&] { is("values"); });
    });
  }

  void write_tools() {
    one([&] { needs({"parameters"}); });
    one([&] { needs({"hydra"}); });
    one([&] {
      means("a search space of Optuna's: each other member is a distribution");
      object("not", [&] {
        object("additionalProperties", [&] { object("not", [&] { is("distribution"); }); });
      });
    });
  }

  void write_values() {
    const auto value = [&] { is("value"); };
    object("value", [&] { is({"string", "number", "boolean"}); });
    object("values", [&] {
      list("anyOf", [&] {
        one_or_more(value);
        one([&] { write_range(); });
        one([&] { is("distribution"); });
      });
    });
    object("distribution", [&] { write_distribution(); });
  }

  // As Weights & Biases' plans say it.
  void write_range() {
    is({"object"});
    object("properties", [&] {
      object("value", [&] { is("value"); });
      object("values", [&] { is_list([&] { is("value"); }); });
      for (const std::string_view number : {"min", "max", "step"})
        object(number, [&] { is({"number"}); });
      object("distribution", [&] { words(kListedDistributions); });
    });
    list("anyOf", [&] {
      for (const Words keys :
           {Words{"value"}, Words{"values"}, Words{"min", "max"}, Words{"distribution"}})
        one([&] { needs(keys); });
    });
  }

  // As Optuna's distribution_to_json() writes it.
  void write_distribution() {
    is({"object"});
    object("properties", [&] {
      object("name", [&] { words(kOptunaDistributions); });
      object("attributes", [&] {
        is({"object"});
        object("properties", [&] {
          object("choices", [&] { is_list([&] { is("value"); }); });
          for (const std::string_view number : {"low", "high"})
            object(number, [&] { is({"number"}); });
          object("step", [&] { is({"number", "null"}); });
          object("log", [&] { is({"boolean"}); });
        });
      });
    });
    needs({"name", "attributes"});
    out_.key("additionalProperties").boolean(false);
  }
};

}  // namespace

std::string plan_schema() { return PlanSchema().text(); }

}  // namespace plimsoll
