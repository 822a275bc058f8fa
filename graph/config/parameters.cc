#include "graph/config/parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "graph/config/extent.h"

namespace plimsoll::config {

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || digit(c) || c == '_' || c == '-';
  });
}

namespace {

constexpr int64_t kDefaultBatch = 32;
constexpr char kBatch[] = "batch";
constexpr int64_t kMostBatch = int64_t{1} << 31;

bool is_symbol_name(std::string_view text) {
  return is_name(text) && text.find('-') == text.npos && !(text[0] >= '0' && text[0] <= '9');
}

std::optional<std::vector<Dim>> parse_list(std::string_view text) {
  std::vector<Dim> list;
  for (const std::string_view part : split(text, ',')) {
    const auto value = parse_number<int64_t>(part);
    if (!value) return std::nullopt;
    list.emplace_back(*value);
  }
  return list;
}

// The setting's value in the kind that the default has.
std::optional<Value> parse_like(const Parameters::Entry& sample, std::string_view text) {
  if (std::holds_alternative<Dim>(sample.value)) {
    const auto value = parse_number<int64_t>(text);
    return value ? std::optional<Value>(Dim(*value)) : std::nullopt;
  }
  if (std::holds_alternative<double>(sample.value)) {
    const auto value = parse_number<double>(text);
    return value && std::isfinite(*value) ? std::optional<Value>(*value) : std::nullopt;
  }
  if (std::holds_alternative<std::string>(sample.value)) {
    const auto found = std::find(sample.choices.begin(), sample.choices.end(), text);
    return found != sample.choices.end() ? std::optional<Value>(*found) : std::nullopt;
  }
  if (text.empty()) return std::vector<Dim>();
  const auto list = parse_list(text);
  return list ? std::optional<Value>(*list) : std::nullopt;
}

std::string kind_of(const Parameters::Entry& entry) {
  if (std::holds_alternative<Dim>(entry.value)) return "a whole number";
  if (std::holds_alternative<double>(entry.value)) return "a number";
  if (entry.choices.empty()) return "a list such as 64,128";
  return fmt::format("one of {}", fmt::join(entry.choices, ", "));
}

// What is wrong with the whole numbers of a parameter: "must be from 1 to 8, found 9"; empty where
// nothing is.
std::string range_fault(const Parameters::Entry& entry) {
  const bool batch = entry.name == kBatch;
  const int64_t low = batch ? 1 : -kMostExtent;
  const int64_t high = batch ? kMostBatch : kMostExtent;
  const auto fault = [&](const Dim& d) {
    const auto value = d.constant();
    if (value && *value >= low && *value <= high) return std::string();
    return fmt::format("must be a whole number from {} to {}, found {}", low, high, d.text());
  };
  if (const Dim* d = std::get_if<Dim>(&entry.value)) return fault(*d);
  if (batch) return fmt::format("must be a whole number from {} to {}", low, high);
  if (const auto* list = std::get_if<std::vector<Dim>>(&entry.value)) {
    for (const Dim& d : *list) {
      if (std::string found = fault(d); !found.empty()) return found;
    }
  }
  return {};
}

}  // namespace

Parameters::Parameters(const JsonValue* value, std::string_view file, const Settings& settings,
                       Diagnostics& faults) {
  if (value) {
    JsonObject object(*value, file, faults);
    static const JsonValue::Members kNone;
    for (const JsonMember& member : value->members() ? *value->members() : kNone) {
      const size_t before = entries_.size();
      add(member.key, member.value, object);
      // Settings take effect at once: derived parameters that follow see them.
      const auto set = settings.find(member.key);
      if (set != settings.end() && entries_.size() > before) replace(set->second, faults);
    }
  }
  if (!defaults_.count(kBatch)) {
    define({kBatch, Dim(kDefaultBatch), {}, {}});
    const auto set = settings.find(kBatch);
    if (set != settings.end()) replace(set->second, faults);
  }
  refuse_unknown(settings, faults);
}

void Parameters::replace(const std::string& text, Diagnostics& faults) {
  Entry entry = std::move(entries_.back());
  entries_.pop_back();
  std::string wrong = fmt::format("must be {}, found '{}'", kind_of(entry), shortened(text));
  if (auto parsed = parse_like(entry, text)) {
    Entry set{entry.name, std::move(*parsed), {}, entry.choices};
    wrong = range_fault(set);
    if (wrong.empty()) return define(std::move(set));
  }
  faults.push_back(
      {"E134", Severity::kError, fmt::format("parameter '{}' {}", entry.name, wrong), {}, {}});
  define(std::move(entry));
}

void Parameters::refuse_unknown(const Settings& settings, Diagnostics& faults) const {
  for (const auto& [name, text] : settings) {
    if (constants_.find(name)) continue;
    const std::string near = nearest(name, constants_.names());
    std::string all;
    for (const Entry& entry : entries_) all += (all.empty() ? "" : ", ") + entry.name;
    faults.push_back({"E134",
                      Severity::kError,
                      fmt::format("the model has no parameter '{}'", shortened(name)),
                      {},
                      near.empty() ? "its parameters: " + all : "did you mean '" + near + "'?"});
  }
}

void Parameters::define_checked(Entry entry, const JsonValue& at, JsonObject& object) {
  if (const std::string wrong = range_fault(entry); !wrong.empty())
    return object.fail("E312", fmt::format("parameter \"{}\" {}", entry.name, wrong), at);
  define(std::move(entry));
}

void Parameters::define(Entry entry) {
  if (const Dim* d = std::get_if<Dim>(&entry.value)) defaults_[entry.name] = d->constant_term();
  constants_.define(entry.name, entry.value);
  entries_.push_back(std::move(entry));
}

void Parameters::add(std::string name, const JsonValue& value, JsonObject& object) {
  if (!is_symbol_name(name)) {
    object.fail(
        "E340",
        fmt::format("parameter \"{}\" is not named by letters, digits and '_'", shortened(name)),
        value);
  } else if (name == kBatch && !value.string()) {
    const auto batch = object.optional_integer(kBatch, {.low = 1, .high = kMostBatch});
    if (batch) define({std::move(name), Dim(*batch), {}, {}});
  } else if (value.list()) {
    add_list(std::move(name), value, object);
  } else if (const std::string* text = value.string()) {
    add_expression(std::move(name), *text, value, object);
  } else if (const auto whole = value.integer()) {
    define_checked({std::move(name), Dim(*whole), {}, {}}, value, object);
  } else if (const JsonNumber* number = value.number(); number && !number->whole) {
    define({std::move(name), number->real, {}, {}});
  } else if (value.members()) {
    add_word(std::move(name), value, object);
  } else {
    object.fail("E311",
                fmt::format("parameter \"{}\" must be a number, an expression, a list of whole "
                            "numbers, found {}",
                            shortened(name), value.description()),
                value);
  }
}

void Parameters::add_word(std::string name, const JsonValue& value, JsonObject& object) {
  JsonObject word(value, object.file(), object.faults());
  std::vector<std::string> choices = word.required_strings("one_of");
  word.finish();
  if (choices.empty()) return;
  std::string first = choices.front();
  define({std::move(name), std::move(first), {}, std::move(choices)});
}

void Parameters::add_list(std::string name, const JsonValue& value, JsonObject& object) {
  std::vector<Dim> list;
  for (const JsonValue& element : *value.list()) {
    if (const auto whole = element.integer()) {
      list.emplace_back(*whole);
    } else {
      object.fail("E311",
                  fmt::format("parameter \"{}\" must be a list of whole numbers, found {}", name,
                              element.description()),
                  element);
    }
  }
  define_checked({std::move(name), std::move(list), {}, {}}, value, object);
}

void Parameters::add_expression(std::string name, const std::string& text, const JsonValue& at,
                                JsonObject& object) {
  Binder binder(defaults_, {});
  const auto value = evaluate(text, constants_, binder);
  if (!value) {
    for (const Diagnostic& d : value.error()) object.fail(d.code, d.message, at, d.help);
    return;
  }
  define_checked({std::move(name), *value, text, {}}, at, object);
}

Environment Parameters::environment(const std::set<std::string>& bound, Binder& binder) const {
  Environment result;
  for (const Entry& entry : entries_) {
    const Dim* d = std::get_if<Dim>(&entry.value);
    // A symbol is at least 1, so 0 and less stay numbers.
    const bool symbolic = d && d->constant_term() >= 1 && !bound.count(entry.name);
    if (d && entry.name == kBatch) {
      result.define(entry.name, Dim::symbol(entry.name));
    } else if (symbolic && !entry.expression.empty()) {
      // It was computed once with numbers; with symbols it cannot fail in another way.
      const auto derived = evaluate(entry.expression, result, binder);
      result.define(entry.name, derived ? *derived : *d);
    } else {
      result.define(entry.name, symbolic ? Value(Dim::symbol(entry.name)) : entry.value);
    }
  }
  return result;
}

}  // namespace plimsoll::config
