#include "estimator/app/sweep/override_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "graph/json/reader.h"

namespace plimsoll {
namespace {

using Reason = tl::unexpected<std::string>;

Reason refused(std::string_view what) {
  return Reason(fmt::format("{} is not supported", shortened(what, 60)));
}

// Between commas that stand outside of quotes.
tl::expected<std::vector<std::string_view>, std::string> split(std::string_view text) {
  std::vector<std::string_view> parts;
  char quote = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (i == text.size() && quote != 0) return Reason("a quote is not closed");
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == ',') {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  return parts;
}

bool is_quoted(std::string_view word) {
  return word.size() >= 2 && (word.front() == '\'' || word.front() == '"') &&
         word.find(word.front(), 1) == word.size() - 1;
}

tl::expected<JsonValue, std::string> value_of(std::string_view word) {
  if (is_quoted(word)) return JsonValue{0, 0, std::string(word.substr(1, word.size() - 2))};
  if (word.empty()) return Reason("an empty value");
  if (word.find_first_of("[]{}()$\\'\"=") != word.npos) return refused(word);
  const std::string lower = lower_case(word);
  if (lower == "null") return refused("null");
  if (lower == "true" || lower == "false") return JsonValue{0, 0, lower == "true"};
  const auto number = read_json(word, "", {});
  if (number && number->number()) return JsonValue{0, 0, *number->number()};
  return JsonValue{0, 0, std::string(word)};
}

tl::expected<OverrideText, std::string> range_of(const std::vector<std::string_view>& parts) {
  OverrideText range{.kind = OverrideText::Kind::kRange};
  std::vector<int64_t> numbers;
  for (std::string_view part : parts) {
    for (const std::string_view name : {"start=", "stop=", "step="}) {
      if (part.starts_with(name)) return refused(part);
    }
    const auto number = parse_number<int64_t>(part);
    if (!number)
      return Reason(fmt::format("a range needs integers, found {}", shortened(part, 40)));
    numbers.push_back(*number);
  }
  if (numbers.size() > 3) return Reason("a range takes up to three numbers");
  range.low = numbers.size() > 1 ? numbers[0] : 0;
  range.high = numbers.size() > 1 ? numbers[1] : numbers[0];
  range.step = numbers.size() > 2 ? numbers[2] : 1;
  return range;
}

// "choice" of "choice(a, b)"; empty where the text calls nothing.
std::string_view function_of(std::string_view text) {
  const size_t open = text.find('(');
  if (open == text.npos || !text.ends_with(')')) return {};
  const std::string_view word = text.substr(0, open);
  const bool named = std::ranges::all_of(
      word, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; });
  return named ? word : std::string_view();
}

}  // namespace

tl::expected<OverrideText, std::string> read_override_text(std::string_view text) {
  text = trimmed(text);
  const std::string_view function = function_of(text);
  if (!function.empty()) {
    text.remove_prefix(function.size() + 1);
    text.remove_suffix(1);
  }
  const auto parts = split(text);
  if (!parts) return Reason(parts.error());
  if (function == "range") return range_of(*parts);
  if (function == "interval") return OverrideText{.kind = OverrideText::Kind::kInterval};
  if (!function.empty() && function != "choice") return refused(fmt::format("{}(...)", function));
  OverrideText listed;
  for (const std::string_view part : *parts) {
    auto value = value_of(part);
    if (!value) return Reason(value.error());
    listed.values.push_back(std::move(*value));
  }
  return listed;
}

std::string to_override_text(const std::vector<JsonValue>& values) {
  std::vector<std::string> words;
  for (const JsonValue& value : values) {
    const std::string* word = value.string();
    if (!word) {
      words.push_back(value.number() ? value.number()->text : *value.boolean() ? "true" : "false");
      continue;
    }
    const auto plain = value_of(*word);
    words.push_back(plain && plain->string() && !is_quoted(*word) && word->find(',') == word->npos
                        ? *word
                        : "'" + *word + "'");
  }
  return words.size() == 1 ? words[0] : fmt::format("choice({})", fmt::join(words, ","));
}

}  // namespace plimsoll
