#include "estimator/settings/ineffective_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/setting.h"

namespace plimsoll {
Diagnostics ineffective_settings(std::string_view verb, const Request& request) {
  Diagnostics said;
  for (const SettingRow& row : settings()) {
    const auto rule = std::ranges::find(row.verbs, verb, &VerbRule::verb);
    if (rule == row.verbs.end() || !request.given.contains(row.name)) continue;
    if (rule->refused) {
      said.push_back(
          error("E117", fmt::format("{} is not for {}: {}", setting(row.name), verb, rule->why))
              .value()
              .front());
    } else {
      said.push_back(warning(
          "W516", fmt::format("{} has no effect on {}: {}", setting(row.name), verb, rule->why)));
    }
  }
  return said;
}

}  // namespace plimsoll
