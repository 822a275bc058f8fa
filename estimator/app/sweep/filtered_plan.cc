#include "estimator/app/sweep/filtered_plan.h"

#include <algorithm>
#include <map>
#include <span>

#include "estimator/app/sweep/override_text.h"
#include "estimator/settings/json_texts.h"
#include "graph/json/writer.h"
#include "graph/json/yaml_writer.h"

namespace plimsoll {
namespace {

using Configurations = std::span<const std::vector<size_t>>;

// Of sorted configurations that are alike before the parameter `at`.
std::vector<PlanGrid> grids_from(Configurations all, size_t at) {
  if (all.empty()) return {};
  if (at == all.front().size()) return {PlanGrid(at)};
  std::map<std::vector<PlanGrid>, std::vector<size_t>> values_with;  // by what follows them
  for (size_t begin = 0; begin < all.size();) {
    const size_t value = all[begin][at];
    size_t end = begin;
    while (end < all.size() && all[end][at] == value) ++end;
    values_with[grids_from(all.subspan(begin, end - begin), at + 1)].push_back(value);
    begin = end;
  }
  std::vector<PlanGrid> grids;
  for (const auto& [rest, values] : values_with) {
    for (PlanGrid grid : rest) {
      grid[at] = values;
      grids.push_back(std::move(grid));
    }
  }
  std::ranges::sort(grids);
  return grids;
}

JsonValue* member(JsonValue& object, std::string_view key) {
  auto* members = std::get_if<JsonValue::Members>(&object.data);
  if (!members) return nullptr;
  const auto at = std::ranges::find(*members, key, &JsonMember::key);
  return at == members->end() ? nullptr : &at->value;
}

void remove(JsonValue& object, std::string_view key) {
  if (auto* members = std::get_if<JsonValue::Members>(&object.data))
    std::erase_if(*members, [&](const JsonMember& m) { return m.key == key; });
}

JsonValue text_value(std::string word) { return {0, 0, std::move(word)}; }

JsonValue object_of(std::string key, JsonValue value) {
  JsonValue made;
  made.data = JsonValue::Members{{std::move(key), 0, 0, std::move(value)}};
  return made;
}

// In a plan of `syntax`, a parameter that has these values.
JsonValue written(PlanSyntax syntax, const JsonValue::List& values) {
  if (syntax == PlanSyntax::kHydra) return text_value(to_override_text(values));
  JsonValue list;
  list.data = values;
  if (syntax == PlanSyntax::kParameters) return object_of("values", std::move(list));
  JsonValue distribution = object_of("name", text_value("CategoricalDistribution"));
  std::get<JsonValue::Members>(distribution.data)
      .push_back({"attributes", 0, 0, object_of("choices", std::move(list))});
  return distribution;
}

// Where the parameters of a plan stand.
JsonValue* place_of(JsonValue& root, PlanSyntax syntax) {
  if (syntax == PlanSyntax::kOptuna) return &root;
  if (syntax == PlanSyntax::kParameters) return member(root, "parameters");
  JsonValue* hydra = member(root, "hydra");
  JsonValue* sweeper = hydra ? member(*hydra, "sweeper") : nullptr;
  return sweeper ? member(*sweeper, "params") : nullptr;
}

JsonValue* parameter_in(JsonValue& place, const std::string& name, PlanSyntax syntax) {
  if (JsonValue* there = member(place, name)) return there;
  for (const char* sign : {"+", "++"}) {
    JsonValue* there = syntax == PlanSyntax::kHydra ? member(place, sign + name) : nullptr;
    if (there) return there;
  }
  return nullptr;
}

// What would choose among the configurations again.
void ask_for_all(const SweepPlan& plan, JsonValue& root) {
  remove(root, "constraints");
  if (plan.syntax == PlanSyntax::kHydra) {
    JsonValue* sweeper = member(*member(root, "hydra"), "sweeper");
    if (sweeper && plan.run_cap) {
      remove(*sweeper, "n_trials");
      remove(*sweeper, "sampler");
    }
    return;
  }
  remove(root, "run_cap");
  remove(root, "seed");
  const bool draws = std::ranges::any_of(plan.parameters,
                                         [](const SweepParameter& p) { return p.values.empty(); });
  JsonValue* method = draws ? nullptr : member(root, "method");
  if (method) *method = text_value("grid");
}

}  // namespace

std::vector<PlanGrid> grids_of(std::vector<std::vector<size_t>> configurations) {
  std::ranges::sort(configurations);
  return grids_from(configurations, 0);
}

std::string write_plan(const SweepPlan& plan, const PlanGrid& grid,
                       const std::function<std::string(const std::string&)>& model_path) {
  JsonValue root = plan.root;
  if (JsonValue* named = member(root, "model"); named && named->string())
    *named = text_value(model_path(*named->string()));
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const SweepParameter& parameter = plan.parameters[i];
    const bool models = parameter.name == "model";
    if (parameter.values.empty() || (grid[i].size() == parameter.values.size() && !models))
      continue;
    JsonValue::List values;
    for (const size_t value : grid[i]) {
      const JsonValue& one = parameter.values[value];
      values.push_back(models ? text_value(model_path(text_of(one))) : one);
    }
    JsonValue* place = place_of(root, plan.syntax);
    JsonValue* there = place ? parameter_in(*place, parameter.name, plan.syntax) : nullptr;
    if (there && !there->list()) {
      *there = written(plan.syntax, values);
    } else {
      if (!there) there = member(root, parameter.name);  // several models, beside the parameters
      if (there) there->data = std::move(values);
    }
  }
  ask_for_all(plan, root);
  if (plan.yaml) return to_yaml(root);
  JsonWriter out(JsonWriter::Layout::kIndented);
  write_value(out, root);
  return out.take() + "\n";
}

}  // namespace plimsoll
