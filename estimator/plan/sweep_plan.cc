#include "estimator/plan/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "graph/base/checked.h"
#include "graph/base/escape.h"
#include "graph/json/object.h"
#include "graph/json/reader.h"
#include "graph/json/yaml_reader.h"

namespace plimsoll {
namespace {

// What sweep tools say to themselves.
constexpr std::array kOtherKeys = {
    "program",         "metric",  "name",   "description", "project",  "entity",
    "early_terminate", "command", "schema", "version",     "objective"};

bool is_yaml(std::string_view text, std::string_view file) {
  if (file.ends_with(".yaml") || file.ends_with(".yml")) return true;
  if (file.ends_with(".json")) return false;
  const size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first == text.npos || text[first] != '{';
}

bool is_scalar(const JsonValue& value) {
  return value.string() || value.number() || value.boolean();
}

class PlanReader {
 public:
  PlanReader(std::string_view file, const Limits& limits) : file_(file), limits_(limits) {}

  Result<SweepPlan> read(const JsonValue& root) {
    SweepPlan plan;
    JsonObject object(root, file_, faults_, true);
    const std::string schema = object.optional_string("schema").value_or("");
    if (schema == "plimsoll.model-config") {
      return error("E203", "is a model config, not a plan",
                   {std::string(file_), root.line, root.column, {}},
                   "a plan names it: model: FILE.json; or give it with --model");
    }
    plan.model = object.optional_string("model").value_or("");
    for (const char* other : kOtherKeys) object.optional(other);
    read_method(object, plan);
    if (const JsonValue* parameters = object.required("parameters", "{\"batch\": [32, 64]}")) {
      if (!parameters->members()) {
        object.fail("E311",
                    fmt::format("\"parameters\" is an object, found {}", parameters->description()),
                    *parameters);
      } else {
        for (const JsonMember& member : *parameters->members())
          plan.parameters.push_back(parameter(member, object));
      }
    }
    object.finish();
    if (has_error(faults_)) return tl::make_unexpected(std::move(faults_));
    return plan;
  }

 private:
  void read_method(JsonObject& object, SweepPlan& plan) {
    if (const JsonValue* method = object.optional("method")) {
      const std::string* word = method->string();
      plan.random = word && *word == "random";
      if (!plan.random && !(word && *word == "grid")) {
        object.fail("E311",
                    fmt::format("\"method\" is grid or random: {} is not done",
                                word ? shortened(*word, 40) : method->description()),
                    *method);
      }
    }
    const auto whole = [&](const char* key, int64_t least) -> std::optional<int64_t> {
      const JsonValue* value = object.optional(key);
      if (!value) return std::nullopt;
      const auto number = value->integer();
      if (number && *number >= least) return number;
      object.fail("E311", fmt::format("\"{}\" is a whole number from {}", key, least), *value);
      return std::nullopt;
    };
    plan.run_cap = whole("run_cap", 1);
    plan.seed = whole("seed", 0).value_or(0);
    if (const JsonValue* early = object.optional("early_terminate")) {
      plan.notes.push_back(warning("W517", "early_terminate has no effect: nothing is trained",
                                   {std::string(file_), early->line, early->column, {}}));
    }
  }

  SweepParameter parameter(const JsonMember& member, JsonObject& plan) {
    SweepParameter parameter{member.key, {std::string(file_), member.line, member.column, {}}, {}};
    if (const JsonValue::List* list = member.value.list()) {
      take(*list, member, plan, parameter);
    } else if (is_scalar(member.value)) {
      parameter.values.push_back(member.value);
    } else if (member.value.members()) {
      take_object(member, parameter);
    } else {
      wrong(member.value, member, plan);
    }
    return parameter;
  }

  void take_object(const JsonMember& member, SweepParameter& parameter) {
    JsonObject object(member.value, file_, faults_);
    const JsonValue* values = object.optional("values");
    const JsonValue* value = object.optional("value");
    const JsonValue* min = object.optional("min");
    const JsonValue* max = object.optional("max");
    const JsonValue* step = object.optional("step");
    for (const char* of_distributions : {"distribution", "mu", "sigma", "q", "probabilities"})
      object.optional(of_distributions);
    if (values) {
      if (const JsonValue::List* list = values->list())
        return take(*list, member, object, parameter);
      wrong(*values, member, object);
    } else if (value) {
      if (!is_scalar(*value)) wrong(*value, member, object);
      parameter.values.push_back(*value);
    } else if (min && max && min->integer() && max->integer()) {
      take_range(*min, *max, step, object, parameter);
    } else if (!object.has("distribution") && !(min && max && min->real() && max->real())) {
      return object.fail("E311", fmt::format("{}: values, a value, or min and max are needed",
                                             shortened(member.key, 60)));
    }
    object.finish();
  }

  void take(const JsonValue::List& list, const JsonMember& member, JsonObject& object,
            SweepParameter& parameter) {
    if (list.empty()) {
      object.fail("E311", fmt::format("{} has no values", shortened(member.key, 60)), member.value);
    }
    for (const JsonValue& value : list) {
      if (!is_scalar(value)) wrong(value, member, object);
    }
    parameter.values = list;
  }

  void take_range(const JsonValue& min, const JsonValue& max, const JsonValue* step,
                  JsonObject& object, SweepParameter& parameter) {
    const int64_t low = *min.integer(), high = *max.integer();
    const int64_t by = step ? step->integer().value_or(0) : 1;
    if (by < 1) return object.fail("E312", "step is a whole number from 1", *step);
    if (low < 0 || high < low)
      return object.fail("E312", "max is not below min, nor min below 0", max);
    if ((high - low) / by >= limits_.json_values) {
      const Place place{std::string(file_), min.line, min.column, {}};
      faults_.push_back(over_limit(limits_, "json-values", place).value().front());
      return;
    }
    for (int64_t value = low; value <= high; value += by) {
      parameter.values.push_back(
          {min.line, min.column,
           JsonNumber{std::to_string(value), static_cast<double>(value), true}});
      if (high - value < by) break;
    }
  }

  static void wrong(const JsonValue& value, const JsonMember& member, JsonObject& object) {
    object.fail("E311",
                fmt::format("{} takes words, numbers, true and false, found {}",
                            shortened(member.key, 60), value.description()),
                value);
  }

  std::string_view file_;
  const Limits& limits_;
  Diagnostics faults_;
};

}  // namespace

Result<int64_t> SweepPlan::configurations(const Limits& limits) const {
  int64_t count = 1;
  for (const SweepParameter& parameter : parameters) {
    if (parameter.values.empty()) continue;
    const auto more = checked_multiply(count, static_cast<int64_t>(parameter.values.size()));
    if (!more || *more > limits.sweep) return over_limit(limits, "sweep", parameter.place);
    count = *more;
  }
  return count;
}

std::optional<std::vector<int64_t>> SweepPlan::chosen(int64_t configurations) const {
  if (!run_cap || *run_cap >= configurations) return std::nullopt;
  std::set<int64_t> numbers;
  // Floyd: each step adds one of those up to `last`, all equally likely.
  std::mt19937_64 chance(static_cast<uint64_t>(seed));
  for (int64_t last = configurations - *run_cap; random && last < configurations; ++last) {
    const auto number = static_cast<int64_t>(chance() % static_cast<uint64_t>(last + 1));
    numbers.insert(numbers.contains(number) ? last : number);
  }
  for (int64_t number = 0; !random && number < *run_cap; ++number) numbers.insert(number);
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}

Result<SweepPlan> read_sweep_plan(std::string_view text, std::string_view file,
                                  const Limits& limits) {
  const auto root =
      is_yaml(text, file) ? read_yaml(text, file, limits) : read_json(text, file, limits);
  if (!root) return tl::make_unexpected(root.error());
  return PlanReader(file, limits).read(*root);
}

std::string text_of(const JsonValue& value) {
  if (const std::string* text = value.string()) return *text;
  if (const JsonNumber* number = value.number()) return number->text;
  return value.boolean().value_or(false) ? "true" : "false";
}

}  // namespace plimsoll
