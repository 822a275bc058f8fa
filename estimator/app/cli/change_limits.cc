#include "estimator/app/cli/change_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"

namespace plimsoll::cli {
namespace {

Result<ChangeLimit> parse_limit(const std::string& text) {
  const std::string flag = setting("fail-if");
  const size_t sign = text.find('>');
  std::string_view share = trimmed(std::string_view(text).substr(std::min(sign, text.size())));
  if (sign == text.npos || sign == 0 || !share.ends_with('%')) {
    return error("E119",
                 fmt::format("{} takes a figure and per cent, such as peak>5%, found '{}'", flag,
                             shortened(text, 40)),
                 {}, "quote it, so that the shell does not take > for a file: 'peak>5%'");
  }
  std::vector<std::string> names;
  for (const LimitedFigure& figure : limited_figures()) names.emplace_back(figure.name);
  const auto name = TRY(parse_word(flag, trimmed(std::string_view(text).substr(0, sign)), names));
  share.remove_prefix(1);
  share.remove_suffix(1);
  constexpr double kMost = 1e6;
  const auto percent = TRY(parse_real(flag + " " + names[name], trimmed(share), 0, kMost));
  const LimitedFigure& figure = limited_figures()[name];
  return ChangeLimit{text, figure.name, figure.figure, percent / 100};
}

}  // namespace

Result<std::vector<ChangeLimit>> parse_change_limits(const std::vector<std::string>& texts) {
  std::vector<ChangeLimit> limits;
  for (const std::string& text : texts) {
    auto limit = TRY(parse_limit(text));
    limits.push_back(std::move(limit));
  }
  return limits;
}

}  // namespace plimsoll::cli
