#include "graph/config/extent.h"

#include <fmt/format.h>

#include <cmath>

namespace plimsoll::config {
namespace {

std::optional<Dim> written(const JsonValue& value, std::string_view key,
                           const Environment& environment, Binder& binder, JsonObject& object) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (const auto whole = value.integer()) return *whole;
  const JsonNumber* number = value.number();
  if (number && number->whole) {
    object.fail("E312", fmt::format("\"{}\" does not fit 64 bits", key), value);
    return std::nullopt;
  }
  if (number && std::trunc(number->real) == number->real && std::abs(number->real) < kExact) {
    const auto exact = static_cast<int64_t>(number->real);
    object.warn("W301", fmt::format("\"{}\" is {}; read as {}", key, number->text, exact), value);
    return exact;
  }
  if (!value.string()) {
    object.fail("E311",
                fmt::format("\"{}\" must be a whole number or an expression, found {}", key,
                            value.description()),
                value);
    return std::nullopt;
  }
  const auto result = evaluate(*value.string(), environment, binder);
  if (result) return *result;
  for (const Diagnostic& d : result.error())
    object.fail(d.code, fmt::format("\"{}\": {}", key, d.message), value, d.help);
  return std::nullopt;
}

}  // namespace

Dim read_extent(const JsonValue& value, std::string_view key, IntegerRange range,
                const Environment& environment, Binder& binder, JsonObject& object) {
  const auto extent = written(value, key, environment, binder, object);
  if (!extent) return 1;
  const auto now = extent->evaluate(binder.defaults());
  if (now && *now >= range.low && *now <= range.high) return *extent;
  const std::string found = !now ? extent->text() + ", which overflows 64 bits"
                            : extent->is_constant()
                                ? fmt::format("{}", *now)
                                : fmt::format("{}, of {}", *now, extent->text());
  object.fail("E312",
              fmt::format("\"{}\" must be a whole number from {} to {}, found {}", key, range.low,
                          range.high, found),
              value);
  return 1;
}

}  // namespace plimsoll::config
