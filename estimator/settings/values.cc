#include "estimator/settings/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "hwdb/quantity.h"

namespace plimsoll {
namespace {

constexpr int64_t kMostExtent = int64_t{1} << 31;

}  // namespace

Result<int64_t> parse_count(std::string_view flag, std::string_view text, int64_t low,
                            int64_t high) {
  const auto refuse = [&](std::string_view why) {
    return error("E103", fmt::format("{} must be a whole number from {} to {}, found '{}'{}", flag,
                                     low, high, shortened(text, 60), why));
  };
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return refuse("");
  if (text.size() > 1 && text[0] == '0')
    return refuse(": leading zeros are not allowed, because some tools read them as octal");
  const auto value = parse_number<int64_t>(text);
  if (!value || *value < low || *value > high) return refuse("");
  return *value;
}

Result<double> parse_real(std::string_view flag, std::string_view text, double low, double high) {
  double value = 0;
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      value < low || value > high) {
    return error("E103", fmt::format("{} must be a number from {} to {}, found '{}'", flag, low,
                                     high, shortened(text, 60)));
  }
  return value;
}

Result<int64_t> parse_bytes(std::string_view flag, std::string_view text) {
  auto size = parse_size(text);
  if (size) return size->value;
  Diagnostics problems = size.error();
  for (Diagnostic& d : problems) {
    d.code = "E104";
    d.message = fmt::format("{}: {}", flag, d.message);
  }
  return tl::make_unexpected(std::move(problems));
}

Result<std::pair<std::string, std::string>> parse_assignment(std::string_view flag,
                                                             std::string_view text) {
  const size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0) {
    return error("E105", fmt::format("{} needs NAME=VALUE, found '{}'", flag, shortened(text, 60)));
  }
  return std::pair{std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

Result<size_t> parse_word(std::string_view flag, std::string_view text,
                          const std::vector<std::string>& words, std::string_view meant) {
  const auto at = std::find(words.begin(), words.end(), text);
  if (at != words.end()) return static_cast<size_t>(at - words.begin());
  const std::string near = meant.empty() ? nearest(text, words) : std::string(meant);
  const std::string found = shortened(text, 60);
  constexpr size_t kListed = 12;  // more words than a reader looks through, where one is meant
  if (!near.empty() && words.size() > kListed) {
    return error("E106", fmt::format("{} does not take '{}'", flag, found), {},
                 fmt::format("did you mean {}? --help-all lists all {}", near, words.size()));
  }
  return error("E106",
               fmt::format("{} takes one of {}, found '{}'", flag, fmt::join(words, ", "), found),
               {}, near.empty() ? "" : fmt::format("did you mean {}?", near));
}

Result<std::vector<int64_t>> parse_extents(std::string_view flag, std::string_view text) {
  std::vector<int64_t> extents;
  for (const std::string_view part : split(text, 'x')) {
    auto extent = TRY(parse_count(flag, part, 1, kMostExtent));
    extents.push_back(extent);
  }
  return extents;
}

Result<std::vector<int64_t>> parse_numbers(std::string_view flag, std::string_view text) {
  std::vector<int64_t> numbers;
  for (std::string_view number : split(text, ',')) {
    const int64_t sign = number.starts_with('-') ? -1 : 1;
    if (sign < 0) number.remove_prefix(1);
    auto size = TRY(parse_count(flag, number, 0, kMostExtent));
    numbers.push_back(sign * size);
  }
  return numbers;
}

}  // namespace plimsoll
