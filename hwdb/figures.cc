#include "hwdb/figures.h"

#include <fmt/format.h>

#include "graph/base/escape.h"

namespace plimsoll {
namespace {

const JsonValue& place_of(JsonObject& object, std::string_view key) {
  const JsonValue* value = object.value().find(key);
  return value ? *value : object.value();
}

}  // namespace

tl::unexpected<Diagnostics> named(std::string_view key, Diagnostics wrong) {
  for (Diagnostic& each : wrong) each.message = fmt::format("{}: {}", key, each.message);
  return tl::make_unexpected(std::move(wrong));
}

tl::unexpected<Diagnostics> implausible(std::string_view key, std::string_view text,
                                        Plausible range) {
  return error("E402", fmt::format("{} is {}; plausible is {} to {}", key,
                                   shortened(text, kQuotedColumns), range.low, range.high));
}

void Figures::fail(JsonObject& where, std::string_view key, const Diagnostic& fault) {
  where.fail(fault.code, fault.message, place_of(where, key), fault.help);
}

void Figures::note(JsonObject& figure, std::string_view key, std::string value) {
  const std::string source = figure.required_string("source");
  if (source.empty() && figure.has("source")) {
    figure.fail("E405", fmt::format("{} names no source", key));
  }
  notes_.push_back({prefix_ + std::string(key), std::move(value), source});
}

JsonObject Figures::open(std::string_view key) { return object_.required_object(key); }

std::string Figures::text(std::string_view key) {
  JsonObject figure = open(key);
  std::string value = figure.required_string("value");
  note(figure, key, value);
  figure.finish();
  return value;
}

std::string Figures::choice(std::string_view key, const std::vector<std::string>& allowed) {
  JsonObject figure = open(key);
  std::string value = figure.required_choice("value", allowed);
  note(figure, key, value);
  figure.finish();
  return value;
}

int64_t Figures::integer(std::string_view key, IntegerRange range) {
  JsonObject figure = open(key);
  const int64_t value = figure.required_integer("value", plausible_ ? range : IntegerRange{});
  note(figure, key, std::to_string(value));
  figure.finish();
  return value;
}

double Figures::real(std::string_view key, RealRange range) {
  JsonObject figure = open(key);
  const double value = figure.required_real("value", plausible_ ? range : RealRange{});
  note(figure, key, fmt::format("{}", value));
  figure.finish();
  return value;
}

void Figures::take(std::string_view key, bool& into) {
  if (object_.optional(key)) into = boolean(key);
}

void Figures::take(std::string_view key, int64_t& into, IntegerRange range) {
  if (object_.optional(key)) into = integer(key, range);
}

bool Figures::boolean(std::string_view key) {
  JsonObject figure = open(key);
  const bool value = figure.required_bool("value");
  note(figure, key, value ? "true" : "false");
  figure.finish();
  return value;
}

}  // namespace plimsoll
