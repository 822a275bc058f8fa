#include "estimator/app/cli/arguments.h"

#include <fmt/format.h>

#include <limits>

#include "estimator/settings/setting_row.h"
#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"

namespace plimsoll::cli {
namespace {

tl::unexpected<Diagnostics> without_value(const std::string& name, const std::string& follows) {
  return error("E102", fmt::format("{} needs a value{}", setting(name),
                                   follows.empty() ? "" : ", found " + shortened(follows, 60)));
}

Result<void> check_switch(const std::string& name, const std::string& value) {
  if (value == "true" || value == "false") return {};
  return error("E103",
               fmt::format("{} takes no value, found '{}'", setting(name), shortened(value, 60)));
}

}  // namespace

std::vector<std::string> with_implied_values(std::vector<std::string> arguments) {
  const auto is_value = [](const std::string& text, const SettingRow& row) {
    const bool number = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    return number || text == row.value.implied;
  };
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (!arguments[i].starts_with("--")) continue;
    const SettingRow* row = find_setting(std::string_view(arguments[i]).substr(2));
    if (!row || !row->value.implied) continue;
    const bool valued = i + 1 < arguments.size() && is_value(arguments[i + 1], *row);
    if (!valued) arguments[i] += fmt::format("={}", row->value.implied);
  }
  return arguments;
}

Result<void> check_arguments(const FlagSet& app, std::span<const std::string> arguments) {
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("--")) continue;
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == argument.npos ? equals : equals - 2);
    const std::optional<Flag> flag = app.find("--" + name);
    if (!flag) continue;
    const bool is_switch = flag->is_switch();
    if (equals != argument.npos) {
      const std::string value = argument.substr(equals + 1);
      if (is_switch) {
        if (auto good = check_switch(name, value); !good) return good;
      } else if (value.empty()) {
        return without_value(name, "");
      }
    } else if (!is_switch && i + 1 < arguments.size()) {
      const std::string& value = arguments[++i];
      if (value.empty()) return without_value(name, "");
      if (value.starts_with("--")) return without_value(name, value);
    }
  }
  return {};
}

std::string why_not_whole(const std::string& text, int least) {
  const auto count = parse_count("it", text, least, std::numeric_limits<int64_t>::max());
  return count ? "" : count.error().front().message;
}

}  // namespace plimsoll::cli
