#include "graph/json/object.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "graph/base/escape.h"

namespace plimsoll {
namespace {

// Nobody reads more, and a hostile file makes millions. Warnings never crowd out errors.
constexpr size_t kMostWarnings = 100;
constexpr size_t kMostFaults = 200;

std::string in_quotes(std::string_view text) {
  return fmt::format("\"{}\"", shortened(text, kQuotedColumns));
}

std::string range_text(IntegerRange range) {
  constexpr IntegerRange kAll;
  if (range.high == kAll.high) return fmt::format("at least {}", range.low);
  if (range.low == kAll.low) return fmt::format("at most {}", range.high);
  return fmt::format("from {} to {}", range.low, range.high);
}

std::string range_text(RealRange range) {
  if (std::isinf(range.high)) return fmt::format("at least {}", range.low);
  if (std::isinf(range.low)) return fmt::format("at most {}", range.high);
  return fmt::format("from {} to {}", range.low, range.high);
}

// A real that is a whole number, as "64.0" and "6.4e1" are.
std::optional<int64_t> exact_integer(double real) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!(std::abs(real) <= kExact) || std::trunc(real) != real) return std::nullopt;
  return static_cast<int64_t>(real);
}

}  // namespace

bool has_error(const Diagnostics& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::kError; });
}

JsonObject::JsonObject(const JsonValue& value, std::string_view file, Diagnostics& faults,
                       bool root)
    : value_(&value), file_(file), faults_(&faults) {
  if (value.members()) return;
  broken_ = true;
  fail(root ? "E331" : "E311", fmt::format("must be an object, found {}", value.description()));
}

void JsonObject::fail(std::string code, std::string message, const JsonValue& at,
                      std::string help) {
  if (faults_->size() >= kMostFaults) return;
  faults_->push_back({std::move(code), Severity::kError, std::move(message),
                      Place{std::string(file_), at.line, at.column, {}}, std::move(help)});
}

std::span<const JsonMember> JsonObject::members() const {
  const JsonValue::Members* members = value_->members();
  return members ? std::span<const JsonMember>(*members) : std::span<const JsonMember>();
}

void JsonObject::fail(std::string code, std::string message, std::string help) {
  fail(std::move(code), std::move(message), *value_, std::move(help));
}

void JsonObject::warn(std::string code, std::string message, const JsonValue& at) {
  if (faults_->size() >= kMostWarnings) return;
  faults_->push_back(
      warning(std::move(code), std::move(message), {std::string(file_), at.line, at.column, {}}));
}

void JsonObject::wrong_kind(std::string_view key, std::string_view wanted, const JsonValue& found) {
  fail("E311", fmt::format("{} must be {}, found {}", in_quotes(key), wanted, found.description()),
       found);
}

const JsonValue* JsonObject::optional(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  return value_->find(key);
}

const JsonValue* JsonObject::required(std::string_view key, std::string_view example) {
  const JsonValue* found = optional(key);
  if (!found && !broken_) {
    fail("E306", fmt::format("key {} is missing", in_quotes(key)),
         example.empty() ? std::string() : fmt::format("for example: \"{}\": {}", key, example));
  }
  return found;
}

std::optional<std::string> JsonObject::optional_string(std::string_view key) {
  const JsonValue* found = optional(key);
  return found ? text_in(*found, key) : std::nullopt;
}

std::optional<std::string> JsonObject::text_in(const JsonValue& value, std::string_view key) {
  if (const std::string* text = value.string()) return *text;
  wrong_kind(key, "a string", value);
  return std::nullopt;
}

std::string JsonObject::required_string(std::string_view key) {
  return required(key, "\"...\"") ? optional_string(key).value_or("") : std::string();
}

std::optional<int64_t> JsonObject::integer_in(const JsonValue& value, std::string_view key,
                                              IntegerRange range) {
  std::optional<int64_t> integer = value.integer();
  if (!integer) {
    const JsonNumber* number = value.number();
    if (number && !number->whole) integer = exact_integer(number->real);
    if (integer) {
      warn("W301", fmt::format("{} is {}; read as {}", in_quotes(key), number->text, *integer),
           value);
    } else if (number && number->whole) {
      fail("E312",
           fmt::format("{} must be a whole number {}, found {}", in_quotes(key), range_text(range),
                       value.description()),
           value);
      return std::nullopt;
    } else {
      wrong_kind(key, "a whole number", value);
      return std::nullopt;
    }
  }
  if (*integer < range.low || *integer > range.high) {
    fail("E312",
         fmt::format("{} must be a whole number {}, found {}", in_quotes(key), range_text(range),
                     *integer),
         value);
    return std::nullopt;
  }
  return integer;
}

std::optional<int64_t> JsonObject::optional_integer(std::string_view key, IntegerRange range) {
  const JsonValue* found = optional(key);
  return found ? integer_in(*found, key, range) : std::nullopt;
}

int64_t JsonObject::required_integer(std::string_view key, IntegerRange range) {
  const JsonValue* found = required(key, "1");
  return found ? integer_in(*found, key, range).value_or(0) : 0;
}

std::optional<double> JsonObject::optional_real(std::string_view key, RealRange range) {
  const JsonValue* found = optional(key);
  return found ? real_in(*found, key, range) : std::nullopt;
}

std::optional<double> JsonObject::real_in(const JsonValue& value, std::string_view key,
                                          RealRange range) {
  const std::optional<double> real = value.real();
  if (!real) {
    wrong_kind(key, "a number", value);
    return std::nullopt;
  }
  if (!(*real >= range.low && *real <= range.high)) {
    fail("E312",
         fmt::format("{} must be {}, found {}", in_quotes(key), range_text(range),
                     value.description()),
         value);
    return std::nullopt;
  }
  return real;
}

double JsonObject::required_real(std::string_view key, RealRange range) {
  return required(key, "1.0") ? optional_real(key, range).value_or(0) : 0;
}

std::optional<bool> JsonObject::optional_bool(std::string_view key) {
  const JsonValue* found = optional(key);
  return found ? boolean_in(*found, key) : std::nullopt;
}

std::optional<bool> JsonObject::boolean_in(const JsonValue& value, std::string_view key) {
  const std::optional<bool> flag = value.boolean();
  if (!flag) wrong_kind(key, "true or false", value);
  return flag;
}

bool JsonObject::required_bool(std::string_view key) {
  return required(key, "true") != nullptr && optional_bool(key).value_or(false);
}

std::optional<std::string> JsonObject::optional_choice(std::string_view key,
                                                       const std::vector<std::string>& allowed) {
  const JsonValue* found = optional(key);
  return found ? choice_in(*found, key, allowed) : std::nullopt;
}

std::optional<std::string> JsonObject::choice_in(const JsonValue& value, std::string_view key,
                                                 const std::vector<std::string>& allowed) {
  std::optional<std::string> text = text_in(value, key);
  if (!text || std::find(allowed.begin(), allowed.end(), *text) != allowed.end()) return text;
  std::vector<std::string> listed = allowed;
  const auto near = std::find(listed.begin(), listed.end(), nearest(*text, allowed));
  if (near != listed.end()) std::rotate(listed.begin(), near, near + 1);
  fail("E313",
       fmt::format("{} cannot be {}; allowed: {}", in_quotes(key), in_quotes(*text),
                   fmt::join(listed, ", ")),
       value);
  return std::nullopt;
}

std::string JsonObject::required_choice(std::string_view key,
                                        const std::vector<std::string>& allowed) {
  if (!required(key, allowed.empty() ? "" : fmt::format("\"{}\"", allowed.front()))) return {};
  return optional_choice(key, allowed).value_or("");
}

std::span<const JsonValue> JsonObject::optional_list(std::string_view key) {
  const JsonValue* found = optional(key);
  const JsonValue::List* list = found ? list_in(*found, key) : nullptr;
  return list ? std::span<const JsonValue>(*list) : std::span<const JsonValue>();
}

const JsonValue::List* JsonObject::list_in(const JsonValue& value, std::string_view key) {
  const JsonValue::List* list = value.list();
  if (!list) wrong_kind(key, "a list", value);
  return list;
}

std::span<const JsonValue> JsonObject::required_list(std::string_view key) {
  return required(key, "[...]") ? optional_list(key) : std::span<const JsonValue>();
}

std::vector<std::string> JsonObject::optional_strings(std::string_view key) {
  std::vector<std::string> strings;
  for (const JsonValue& element : optional_list(key)) {
    if (const std::string* text = element.string()) {
      strings.push_back(*text);
    } else {
      wrong_kind(key, "a list of strings", element);
    }
  }
  return strings;
}

std::vector<std::string> JsonObject::required_strings(std::string_view key) {
  return required(key, "[\"...\"]") ? optional_strings(key) : std::vector<std::string>();
}

std::optional<std::vector<int64_t>> JsonObject::optional_integers(std::string_view key,
                                                                  IntegerRange range) {
  if (!has(key)) {
    optional(key);
    return std::nullopt;
  }
  std::vector<int64_t> integers;
  for (const JsonValue& element : optional_list(key)) {
    if (const auto integer = integer_in(element, key, range)) integers.push_back(*integer);
  }
  return integers;
}

std::vector<int64_t> JsonObject::required_integers(std::string_view key, IntegerRange range) {
  if (!required(key, "[1, 1]")) return {};
  return optional_integers(key, range).value_or(std::vector<int64_t>());
}

std::optional<JsonObject> JsonObject::optional_object(std::string_view key) {
  const JsonValue* found = optional(key);
  if (!found) return std::nullopt;
  return JsonObject(*found, file_, *faults_);
}

JsonObject JsonObject::required_object(std::string_view key) {
  if (const JsonValue* found = required(key, "{...}")) return {*found, file_, *faults_};
  // Its own keys cannot be missing too: the object's absence was said.
  JsonObject nothing = *this;
  static const JsonValue kNothing{.line = 0, .column = 0, .data = JsonValue::Members{}};
  nothing.value_ = &kNothing;
  nothing.broken_ = true;
  return nothing;
}

int64_t JsonObject::schema(std::string_view name, int64_t newest) {
  const std::string found = required_string("schema");
  if (!found.empty() && found != name) {
    fail("E330", fmt::format("is {}, not {}", in_quotes(found), in_quotes(name)),
         *value_->find("schema"));
    broken_ = true;  // the keys of another format are no faults of this one
  }
  const int64_t version = required_integer("version", {.low = 1});
  if (version > newest) {
    fail("E330",
         fmt::format("was written for schema version {}, this build reads 1-{}", version, newest),
         *value_->find("version"), "update plimsoll");
  }
  return version;
}

void JsonObject::finish() {
  if (broken_) return;
  for (const JsonMember& member : *value_->members()) {
    if (std::find(asked_.begin(), asked_.end(), member.key) != asked_.end()) continue;
    if (faults_->size() >= kMostFaults) return;
    const std::string near = nearest(member.key, asked_);
    faults_->push_back({"E304", Severity::kError,
                        fmt::format("unknown key {}", in_quotes(member.key)),
                        Place{std::string(file_), member.line, member.column, {}},
                        near.empty() ? fmt::format("known keys: {}", fmt::join(asked_, ", "))
                                     : fmt::format("did you mean \"{}\"?", near)});
  }
}

}  // namespace plimsoll
