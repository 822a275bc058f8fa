#include "estimator/memory/allocator/options.h"

#include <fmt/format.h>

#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

tl::unexpected<Diagnostics> refused(std::string_view setting, std::string_view why) {
  return error("E161", fmt::format("allocator setting '{}': {}", shortened(setting, 60), why), {},
               "for example expandable_segments:True,max_split_size_mb:128");
}

std::optional<int64_t> whole_number(std::string_view text) {
  const auto value = parse_number<int64_t>(text);
  return value && *value >= 0 && *value < int64_t{1} << 40 ? value : std::nullopt;
}

Result<void> set(CachingRules& rules, std::string_view setting) {
  const size_t colon = setting.find(':');
  if (colon == std::string_view::npos) return refused(setting, "it has no value");
  const std::string_view key = setting.substr(0, colon), value = setting.substr(colon + 1);
  if (key == "expandable_segments") {
    if (value != "True" && value != "False") return refused(setting, "it is True or False");
    rules.expandable_segments = value == "True";
    return {};
  }
  if (key != "max_split_size_mb" && key != "roundup_power2_divisions") {
    return refused(setting, "its effect is not known");
  }
  const auto number = whole_number(value);
  if (!number) return refused(setting, "it takes a whole number");
  if (key == "max_split_size_mb") {
    rules.max_split_size = *number << 20;
  } else {
    rules.roundup_power2_divisions = *number;
  }
  return {};
}

}  // namespace

Result<void> check(const CachingRules& rules) {
  if (rules.max_split_size && *rules.max_split_size <= rules.large_segment) {
    return error("E161", "max_split_size must be above 20 MiB", {}, "max_split_size_mb:21 or more");
  }
  const int64_t divisions = rules.roundup_power2_divisions;
  if (divisions < 0 || (divisions & (divisions - 1)) != 0) {
    return error("E161", "roundup_power2_divisions must be a power of two");
  }
  return {};
}

Result<CachingRules> caching_rules(std::string_view text) {
  CachingRules rules;
  while (!text.empty()) {
    TRY(set(rules, take_part(text, ',')));
  }
  TRY(check(rules));
  return rules;
}

}  // namespace plimsoll
