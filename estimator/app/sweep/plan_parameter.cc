#include "estimator/app/sweep/plan_parameter.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "estimator/app/sweep/override_text.h"
#include "graph/base/among.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

// Of them those that min and max of whole numbers list.
constexpr std::array<std::string_view, 1> kWholeDistributions = {"int_uniform"};

JsonValue numeral(const JsonValue& at, std::string text, double real, bool whole) {
  return {at.line, at.column, JsonNumber{std::move(text), real, whole}};
}

}  // namespace

bool is_scalar(const JsonValue& value) {
  return value.string() || value.number() || value.boolean();
}

bool is_optuna_distribution(const JsonValue& value) {
  const JsonValue* name = value.find("name");
  return name && name->string() && name->string()->ends_with("Distribution") &&
         value.find("attributes");
}

void ParameterReader::fail(std::string code, std::string message, const JsonValue& at) {
  faults_.push_back(
      error(std::move(code), std::move(message), {std::string(file_), at.line, at.column, {}})
          .value()
          .front());
}

void ParameterReader::wrong(const JsonValue& value, const JsonMember& member) {
  fail("E311",
       fmt::format("{} takes words, numbers, true and false, found {}", shortened(member.key, 60),
                   value.description()),
       value);
}

void ParameterReader::not_done(std::string_view what, const JsonMember& member) {
  fail("E311",
       fmt::format("{}: {} is not supported", shortened(member.key, 60), shortened(what, 60)),
       member.value);
}

SweepParameter ParameterReader::read(const JsonMember& member) {
  SweepParameter parameter{member.key, {std::string(file_), member.line, member.column, {}}, {}};
  if (member.value.list()) {
    take_list(member.value, member, parameter);
  } else if (is_scalar(member.value)) {
    parameter.values.push_back(member.value);
  } else if (is_optuna_distribution(member.value)) {
    take_optuna(member, parameter);
  } else if (member.value.members()) {
    take_object(member, parameter);
  } else {
    wrong(member.value, member);
  }
  return parameter;
}

void ParameterReader::check_distribution(JsonObject& object, const JsonMember& member) {
  const JsonValue* named = object.optional("distribution");
  const std::string* word = named ? named->string() : nullptr;
  if (named && !(word && among(*word, kListedDistributions)))
    not_done(fmt::format("distribution {}", word ? *word : named->description()), member);
  const JsonValue* shares = object.optional("probabilities");
  if (shares && by_chance_) not_done("probabilities", member);
}

void ParameterReader::take_object(const JsonMember& member, SweepParameter& parameter) {
  if (member.value.find("parameters")) return not_done("parameters inside a parameter", member);
  JsonObject object(member.value, file_, faults_);
  const JsonValue* values = object.optional("values");
  const JsonValue* value = object.optional("value");
  const JsonValue* min = object.optional("min");
  const JsonValue* max = object.optional("max");
  const JsonValue* step = object.optional("step");
  check_distribution(object, member);
  for (const char* of_distributions : {"mu", "sigma", "q"}) object.optional(of_distributions);
  if (static_cast<int>(values != nullptr) + (value != nullptr) + (min || max || step) > 1)
    return fail("E311",
                fmt::format("{} has several of values, value, and min and max: give one of them",
                            shortened(member.key, 60)),
                member.value);
  const JsonValue* named = member.value.find("distribution");
  const bool drawn = named && named->string() && !among(*named->string(), kWholeDistributions);
  if (values) {
    take_list(*values, member, parameter);
  } else if (value) {
    if (!is_scalar(*value)) wrong(*value, member);
    parameter.values.push_back(*value);
  } else if (!drawn && min && max && min->integer() && max->integer()) {
    take_range(*min, *max, step, parameter);
  } else if (!named && !(min && max && min->real() && max->real())) {
    return fail(
        "E311",
        fmt::format("{}: values, a value, or min and max are needed", shortened(member.key, 60)),
        member.value);
  }
  object.finish();
}

void ParameterReader::take_list(const JsonValue& list, const JsonMember& member,
                                SweepParameter& parameter) {
  if (!list.list()) return wrong(list, member);
  if (list.list()->empty())
    return fail("E311", fmt::format("{} has no values", shortened(member.key, 60)), member.value);
  for (const JsonValue& value : *list.list()) {
    if (!is_scalar(value)) return wrong(value, member);
  }
  parameter.values = *list.list();
}

void ParameterReader::take_range(const JsonValue& min, const JsonValue& max, const JsonValue* step,
                                 SweepParameter& parameter) {
  const int64_t low = *min.integer(), high = *max.integer();
  const int64_t by = step ? step->integer().value_or(0) : 1;
  if (by < 1) return fail("E312", "step must be an integer of at least 1", *step);
  if (low < 0 || high < low)
    return fail("E312", "min must be at least 0, and max at least min", max);
  if ((high - low) / by >= limits_.json_values) {
    const Place place{std::string(file_), min.line, min.column, {}};
    faults_.push_back(over_limit(limits_, "json-values", place).value().front());
    return;
  }
  for (int64_t value = low; value <= high; value += by) {
    parameter.values.push_back(
        numeral(min, std::to_string(value), static_cast<double>(value), true));
    if (high - value < by) break;
  }
}

// Fractions: low, low + step, ... up to high.
void ParameterReader::take_steps(const JsonValue& low, const JsonValue& high, const JsonValue& step,
                                 SweepParameter& parameter) {
  const double from = *low.real(), to = *high.real(), by = *step.real();
  // So that the last of them is not lost to rounding.
  constexpr double kSlack = 1e-9;
  const double steps = std::floor((to - from) / by + kSlack);
  if (!(by > 0) || !(steps >= 0))
    return fail("E312", "step must be positive, and high at least low", step);
  if (steps >= static_cast<double>(limits_.json_values)) {
    const Place place{std::string(file_), low.line, low.column, {}};
    faults_.push_back(over_limit(limits_, "json-values", place).value().front());
    return;
  }
  for (int64_t i = 0; i <= static_cast<int64_t>(steps); ++i) {
    const double value = from + by * static_cast<double>(i);
    parameter.values.push_back(numeral(low, fmt::format("{:.12g}", value), value, false));
  }
}

// optuna/distributions.py: what distribution_to_json() writes.
void ParameterReader::take_optuna(const JsonMember& member, SweepParameter& parameter) {
  const std::string& kind = *member.value.find("name")->string();
  const JsonValue& attributes = *member.value.find("attributes");
  JsonObject object(attributes, file_, faults_);
  const auto& [of_choices, of_whole, of_real] = kOptunaDistributions;
  if (kind == of_choices) {
    const JsonValue* choices = object.required("choices");
    if (choices) take_list(*choices, member, parameter);
    return object.finish();
  }
  if (kind != of_whole && kind != of_real) return not_done(kind, member);
  const JsonValue* low = object.required("low");
  const JsonValue* high = object.required("high");
  const JsonValue* step = object.optional("step");
  const bool logarithmic = object.optional_bool("log").value_or(false);
  object.finish();
  if (!low || !high) return;
  if (step && step->is_null()) step = nullptr;
  const bool whole = kind == of_whole;
  for (const JsonValue* bound : {low, high, step}) {
    if (bound && !(whole ? bound->integer().has_value() : bound->real().has_value()))
      return fail("E311",
                  fmt::format("{} takes {}numbers, found {}", shortened(member.key, 60),
                              whole ? "whole " : "", bound->description()),
                  *bound);
  }
  if (logarithmic || (!whole && !step)) return;  // a distribution, without a list of values
  if (whole) return take_range(*low, *high, step, parameter);
  take_steps(*low, *high, *step, parameter);
}

SweepParameter ParameterReader::read_override(const JsonMember& member) {
  SweepParameter parameter{member.key, {std::string(file_), member.line, member.column, {}}, {}};
  std::string& name = parameter.name;
  name.erase(0, std::min(name.find_first_not_of('+'), name.size()));
  if (name.starts_with('~')) {
    not_done("removing a key", member);
    return parameter;
  }
  const std::string* text = member.value.string();
  if (!text) {
    if (!is_scalar(member.value)) {
      wrong(member.value, member);
    } else {
      parameter.values.push_back(member.value);
    }
    return parameter;
  }
  const auto read = read_override_text(*text);
  if (!read) {
    fail("E311", fmt::format("{}: {}", shortened(member.key, 60), read.error()), member.value);
    return parameter;
  }
  const JsonValue& at = member.value;
  if (read->kind == OverrideText::Kind::kValues) {
    for (JsonValue value : read->values) {
      value.line = at.line;
      value.column = at.column;
      parameter.values.push_back(std::move(value));
    }
  } else if (read->kind == OverrideText::Kind::kRange) {
    // Up to before its end, as Python's.
    const JsonValue low =
        numeral(at, std::to_string(read->low), static_cast<double>(read->low), true);
    const int64_t last = read->high - 1;
    const JsonValue high = numeral(at, std::to_string(last), static_cast<double>(last), true);
    const JsonValue step =
        numeral(at, std::to_string(read->step), static_cast<double>(read->step), true);
    take_range(low, high, &step, parameter);
  }
  return parameter;
}

}  // namespace plimsoll
