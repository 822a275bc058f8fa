#include "hwdb/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "graph/base/escape.h"

namespace plimsoll {
namespace {

__extension__ using Int128 = __int128;

struct Prefix {
  std::string_view text;
  int decimal = 0;  // power of ten
  int binary = 0;   // power of two
};
// IEC before SI: "Mi" must not be read as "M".
constexpr Prefix kPrefixes[] = {
    {"Ki", 0, 10}, {"Mi", 0, 20}, {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
    {"k", 3, 0},   {"K", 3, 0},   {"M", 6, 0},   {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},
    {"E", 18, 0},  {"m", -3, 0},  {"u", -6, 0},  {"n", -9, 0},  {"", 0, 0},
};

struct Unit {
  std::string_view text;
  double scale = 1;
};
struct Kind {
  std::string_view noun;
  std::string_view example;
  std::span<const Unit> units;
  bool small = false;   // m, u, n
  bool large = true;    // k, M, G, ...
  bool binary = false;  // Ki, Mi, ...
};

constexpr Unit kByteUnits[] = {{"B"}};
constexpr Unit kSecondUnits[] = {{"s"}};
constexpr Unit kHertzUnits[] = {{"Hz"}};
constexpr Unit kByteRateUnits[] = {{"B/s"}, {"bit/s", 0.125}};
constexpr Unit kFlopRateUnits[] = {{"FLOP/s"}, {"OP/s"}};
constexpr Unit kWattUnits[] = {{"W"}};

constexpr Kind kBytes{"size", "8 GiB", kByteUnits, false, true, true};
constexpr Kind kSeconds{"time", "50 us", kSecondUnits, true, false};
constexpr Kind kHertz{"frequency", "1480 MHz", kHertzUnits};
constexpr Kind kByteRate{"rate", "243.3 GB/s", kByteRateUnits, false, true, true};
constexpr Kind kFlopRate{"rate", "5.3 TFLOP/s", kFlopRateUnits};
constexpr Kind kWatts{"power", "105 W", kWattUnits, true, true};

struct Parsed {
  std::string_view number;  // digits, at most one point
  Prefix prefix;
  Unit unit;
};

tl::unexpected<Diagnostics> refuse(const Kind& kind, std::string_view text, std::string_view why) {
  return error(
      "E401",
      fmt::format("\"{}\" is not a {}: {}", shortened(text, kQuotedColumns), kind.noun, why), {},
      fmt::format("for example \"{}\"", kind.example));
}

bool allowed(const Kind& kind, const Prefix& prefix) {
  if (prefix.binary > 0) return kind.binary;
  return prefix.decimal < 0 ? kind.small : prefix.decimal == 0 || kind.large;
}

// "1.5", "12", but not ".5", "1.", "+1", "1e3", "0x10" and nothing longer than 18 digits.
bool is_decimal(std::string_view number) {
  constexpr size_t kMostDigits = 18;
  const size_t point = number.find('.');
  const std::string_view whole = number.substr(0, point);
  const std::string_view rest = point == number.npos ? "0" : number.substr(point + 1);
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  };
  const bool padded = whole.size() > 1 && whole.front() == '0';
  return digits(whole) && digits(rest) && !padded && number.size() <= kMostDigits;
}

tl::unexpected<Diagnostics> refuse_unit(const Kind& kind, std::string_view text,
                                        std::string_view number, std::string_view unit) {
  if (unit.empty()) return refuse(kind, text, "the unit is missing");
  if (&kind.units[0] == &kByteUnits[0] && unit.size() == 1) {
    const std::string lead(unit);
    return refuse(
        kind, text,
        fmt::format("ambiguous; write {0}{1}B (decimal) or {0}{1}iB (binary)", number, lead));
  }
  return refuse(kind, text, fmt::format("unknown unit \"{}\"", shortened(unit, 20)));
}

Result<Parsed> parse(const Kind& kind, std::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, digits);
  if (!is_decimal(number)) return refuse(kind, text, "it must start with a decimal number");
  std::string_view unit = digits == text.npos ? std::string_view() : text.substr(digits);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Prefix& prefix : kPrefixes) {
    if (!unit.starts_with(prefix.text) || !allowed(kind, prefix)) continue;
    const std::string_view symbol = unit.substr(prefix.text.size());
    for (const Unit& candidate : kind.units) {
      if (candidate.text == symbol) return Parsed{number, prefix, candidate};
    }
  }
  return refuse_unit(kind, text, number, unit);
}

Result<double> parse_real(const Kind& kind, std::string_view text) {
  const Result<Parsed> parsed = parse(kind, text);
  if (!parsed) return tl::unexpected(parsed.error());
  // One correctly rounded conversion of "243.3e9" rather than a product of two roundings.
  const std::string scientific = fmt::format("{}e{}", parsed->number, parsed->prefix.decimal);
  double value = 0;
  std::from_chars(scientific.data(), scientific.data() + scientific.size(), value);
  return std::ldexp(value, parsed->prefix.binary) * parsed->unit.scale;
}

template <class T>
Result<T> as(const Kind& kind, std::string_view text) {
  return parse_real(kind, text).map([](double value) { return T{value}; });
}

Int128 power(int64_t base, int exponent) {
  Int128 result = 1;
  for (; exponent > 0; --exponent) result *= base;
  return result;
}

}  // namespace

namespace {

std::string pattern(const Kind& kind) {
  std::string prefixes, units;
  for (const Prefix& prefix : kPrefixes) {
    if (prefix.text.empty() || !allowed(kind, prefix)) continue;
    prefixes += fmt::format("{}{}", prefixes.empty() ? "" : "|", prefix.text);
  }
  for (const Unit& unit : kind.units)
    units += fmt::format("{}{}", units.empty() ? "" : "|", unit.text);
  return fmt::format("^[0-9]+(\\.[0-9]+)? ?({})?({})$", prefixes, units);
}

}  // namespace

std::string pattern_of(Bytes*) { return pattern(kBytes); }
std::string pattern_of(Seconds*) { return pattern(kSeconds); }
std::string pattern_of(Hertz*) { return pattern(kHertz); }
std::string pattern_of(BytesPerSecond*) { return pattern(kByteRate); }
std::string pattern_of(FlopPerSecond*) { return pattern(kFlopRate); }
std::string pattern_of(Watts*) { return pattern(kWatts); }

Result<Bytes> parse_bytes(std::string_view text) {
  const Result<Parsed> parsed = parse(kBytes, text);
  if (!parsed) return tl::unexpected(parsed.error());
  Int128 mantissa = 0;
  int fraction = -1;
  for (const char c : parsed->number) {
    if (c == '.') {
      fraction = 0;
    } else {
      mantissa = mantissa * 10 + (c - '0');
      if (fraction >= 0) ++fraction;
    }
  }
  const Int128 scale = power(10, parsed->prefix.decimal) << parsed->prefix.binary;
  const Int128 divisor = power(10, fraction);
  const Int128 bytes = (mantissa * scale + divisor / 2) / divisor;
  constexpr Int128 kMost = Int128{1} << 62;
  if (bytes > kMost) return refuse(kBytes, text, "more than 4 EiB");
  return Bytes{static_cast<int64_t>(bytes)};
}

Result<Seconds> parse_seconds(std::string_view text) { return as<Seconds>(kSeconds, text); }
Result<Hertz> parse_hertz(std::string_view text) { return as<Hertz>(kHertz, text); }
Result<BytesPerSecond> parse_bytes_per_second(std::string_view text) {
  return as<BytesPerSecond>(kByteRate, text);
}
Result<FlopPerSecond> parse_flop_per_second(std::string_view text) {
  return as<FlopPerSecond>(kFlopRate, text);
}
Result<Watts> parse_watts(std::string_view text) { return as<Watts>(kWatts, text); }

Result<Bytes> parse_size(std::string_view text) {
  if (text == "0") return Bytes{0};
  std::string spelled(text);
  // "24gib": only where all of the unit is in lower case, since "24Gb" may mean bits.
  if (text.find_first_of("BKMGTPE") == text.npos) {
    for (char& c : spelled) {
      if (c >= 'a' && c <= 'z' && c != 'i') c = static_cast<char>(c - 'a' + 'A');
    }
  }
  Result<Bytes> bytes = parse_bytes(spelled);
  if (!bytes) {
    Diagnostic& fault = bytes.error()[0];
    fault.code = "E121";
    // In quotes, as it was written.
    if (fault.message.find(spelled) == 1) fault.message.replace(1, spelled.size(), text);
  }
  return bytes;
}

}  // namespace plimsoll
