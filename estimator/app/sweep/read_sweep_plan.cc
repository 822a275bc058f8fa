#include "estimator/app/sweep/read_sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "estimator/app/sweep/hydra_plan.h"
#include "estimator/app/sweep/plan_keys.h"
#include "estimator/app/sweep/plan_parameter.h"
#include "estimator/settings/setting_row.h"
#include "graph/base/checked.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/json/object.h"
#include "graph/json/read_fields.h"
#include "graph/json/reader.h"
#include "graph/json/yaml_reader.h"

namespace plimsoll {
namespace {

// What sweep tools say to themselves.
constexpr std::array kOtherKeys = {
    "program", "metric",          "name",    "description", "project",
    "entity",  "early_terminate", "command", "schema",      "version"};
bool is_yaml(std::string_view text, std::string_view file) {
  if (file.ends_with(".yaml") || file.ends_with(".yml")) return true;
  if (file.ends_with(".json")) return false;
  const size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first == text.npos || text[first] != '{';
}

PlanSyntax syntax_of(const JsonValue& root) {
  if (root.find("parameters") || !root.members()) return PlanSyntax::kParameters;
  if (root.find("hydra")) return PlanSyntax::kHydra;
  const bool any = std::ranges::any_of(
      *root.members(), [](const JsonMember& m) { return is_optuna_distribution(m.value); });
  return any ? PlanSyntax::kOptuna : PlanSyntax::kParameters;
}

class PlanReader {
 public:
  PlanReader(std::string_view file, const Limits& limits) : file_(file), limits_(limits) {}

  Result<SweepPlan> read(const JsonValue& root) {
    SweepPlan plan;
    plan.syntax = syntax_of(root);
    JsonObject object(root, file_, faults_, true);
    if (plan.syntax == PlanSyntax::kHydra) {
      read_model(object, plan);
      object.optional("constraints");
      read_objective(object, plan);
      read_hydra_plan(root, file_, limits_, plan, faults_);
    } else {
      TRY(check_schema(object, root));
      TRY(check_parameters(plan, root));
      for (const char* other : kOtherKeys) object.optional(other);
      read_method(object, plan);
      read_model(object, plan);
      object.optional("constraints");
      read_objective(object, plan);
      if (plan.syntax == PlanSyntax::kOptuna) {
        read_space(object, plan);
      } else {
        read_parameters(object, plan);
      }
      check_settings(object, plan);
      object.finish();
    }
    read_constraints(root, plan);
    if (has_error(faults_)) return tl::make_unexpected(std::move(faults_));
    return plan;
  }

 private:
  Place place_of(const JsonValue& value) const {
    return {std::string(file_), value.line, value.column, {}};
  }

  Result<void> check_schema(JsonObject& object, const JsonValue& root) const {
    if (object.optional_string("schema").value_or("") != "plimsoll.model-config") return {};
    return error("E203", "is a model config, not a plan", place_of(root),
                 "a plan names it: model: FILE.json; or give it with " + setting("model"));
  }

  // Settings at the top would each be an unknown key: what is amiss is said once.
  Result<void> check_parameters(const SweepPlan& plan, const JsonValue& root) const {
    if (plan.syntax != PlanSyntax::kParameters || !root.members() || root.find("parameters"))
      return {};
    const bool misspelt = std::ranges::any_of(*root.members(), [](const JsonMember& member) {
      return !nearest(member.key, {"parameters"}).empty();
    });
    if (misspelt) return {};  // which is the fault to tell
    return error("E306", "key \"parameters\" is missing: it contains the settings of a plan",
                 place_of(root), "for example: \"parameters\": {\"batch\": [32, 64]}");
  }

  // A setting outside of "parameters" would be an unknown key without a word of where it belongs.
  void check_settings(JsonObject& object, const SweepPlan& plan) {
    const JsonValue::Members* const members = object.value().members();
    if (plan.syntax != PlanSyntax::kParameters || !members) return;
    for (const JsonMember& member : *members) {
      std::string flag = member.key;
      std::ranges::replace(flag, '_', '-');
      if (!find_setting(flag)) continue;
      object.optional(member.key);
      faults_.push_back(
          error("E304", fmt::format("setting \"{}\" is outside of \"parameters\"", member.key),
                {std::string(file_), member.line, member.column, {}}, "move it into \"parameters\"")
              .value()
              .front());
    }
  }

  // One model, or several, which are the first parameter.
  void read_model(JsonObject& object, SweepPlan& plan) {
    const JsonValue* model = object.optional("model");
    if (!model) return;
    if (const std::string* one = model->string()) {
      plan.model = *one;
    } else if (model->list() && plan.syntax != PlanSyntax::kHydra) {
      plan.parameters.push_back(reader(plan).read({"model", model->line, model->column, *model}));
    } else if (plan.syntax != PlanSyntax::kHydra) {
      object.fail("E311",
                  fmt::format("\"model\" is a file, builtin:NAME or a list of them, found {}",
                              model->description()),
                  *model);
    }
  }

  ParameterReader reader(const SweepPlan& plan) { return {file_, limits_, faults_, plan.random}; }

  void read_parameters(JsonObject& object, SweepPlan& plan) {
    const JsonValue* parameters = object.optional("parameters");
    if (!parameters) return;
    if (!parameters->members()) {
      return object.fail(
          "E311", fmt::format("\"parameters\" is an object, found {}", parameters->description()),
          *parameters);
    }
    for (const JsonMember& member : *parameters->members())
      plan.parameters.push_back(reader(plan).read(member));
  }

  void read_space(JsonObject& object, SweepPlan& plan) {
    for (const JsonMember& member : *object.value().members()) {
      if (!is_optuna_distribution(member.value)) continue;
      object.optional(member.key);
      plan.parameters.push_back(reader(plan).read(member));
    }
  }

  void read_method(JsonObject& object, SweepPlan& plan) {
    ReadFields fields(object);
    describe_search(fields, plan);
    if (const JsonValue* early = object.optional("early_terminate")) {
      plan.notes.push_back(
          warning("W517", "early_terminate has no effect: nothing is trained", place_of(*early)));
    }
  }

  void read_constraints(const JsonValue& root, SweepPlan& plan) {
    const JsonValue* list = root.find("constraints");
    if (!list) return;
    std::vector<Constraint::Parameter> names;
    for (const SweepParameter& parameter : plan.parameters) names.push_back(typed(parameter));
    const JsonValue::List one = {*list};
    for (const JsonValue& value : list->list() ? *list->list() : one) {
      const std::string* text = value.string();
      auto constraint = text ? Constraint::read(*text, names)
                             : tl::expected<Constraint, std::string>(tl::unexpected<std::string>(
                                   "expected text, found " + value.description()));
      if (constraint) {
        plan.constraints.push_back(std::move(*constraint));
      } else {
        faults_.push_back(error("E324", "constraint: " + constraint.error(), place_of(value),
                                "for example \"batch * accumulate <= 512 and gpu != 't4'\"")
                              .value()
                              .front());
      }
    }
  }

  static Constraint::Parameter typed(const SweepParameter& parameter) {
    const auto kind = [](const JsonValue& value) {
      return value.number()   ? Constraint::Kind::kNumber
             : value.string() ? Constraint::Kind::kText
                              : Constraint::Kind::kTruth;
    };
    // Names without values are nobody's.
    if (parameter.values.empty()) return {};
    Constraint::Parameter typed{parameter.name, kind(parameter.values.front())};
    typed.mixed = std::ranges::any_of(
        parameter.values, [&](const JsonValue& value) { return kind(value) != typed.kind; });
    return typed;
  }

  static void read_objective(JsonObject& object, SweepPlan& plan) {
    ReadFields fields(object);
    describe_objective(fields, plan);
  }

  std::string_view file_;
  const Limits& limits_;
  Diagnostics faults_;
};
}  // namespace

Result<SweepPlan> read_sweep_plan(std::string_view text, std::string_view file,
                                  const Limits& limits) {
  const bool yaml = is_yaml(text, file);
  auto root = TRY(yaml ? read_yaml(text, file, limits) : read_json(text, file, limits));
  auto plan = PlanReader(file, limits).read(root);
  if (!plan) return plan;
  plan->yaml = yaml;
  plan->root = std::move(root);
  return plan;
}

}  // namespace plimsoll
