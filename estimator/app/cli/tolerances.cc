#include "estimator/app/cli/tolerances.h"

#include <fmt/format.h>

#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll::cli {
namespace {

// "10%", "1MiB" of bytes, "5ms" of times. A bare number would be a share to one reader and per cent
// to another.
Result<Tolerance> parse_tolerance(const std::string& name, const std::string& text) {
  const std::string flag = setting_entry("tolerance", name);
  const bool of_bytes = name == "memory" || name == "workspace";
  const auto number = [&](size_t unit) {
    return parse_real(flag, std::string_view(text).substr(0, text.size() - unit), 0, 1e6);
  };
  if (text.ends_with("%")) {
    const auto percent = TRY(number(1));
    return Tolerance{.relative = percent / 100};
  }
  if (name == "time" && text.ends_with("ms")) {
    const auto milliseconds = TRY(number(2));
    return Tolerance{.seconds = milliseconds / 1e3};
  }
  if (of_bytes && text.ends_with("B")) {
    const auto bytes = TRY(parse_bytes(flag, text));
    return Tolerance{.bytes = static_cast<double>(bytes)};
  }
  const std::string_view unit = of_bytes         ? ", or a size such as 100MiB"
                                : name == "time" ? ", or a time such as 5ms"
                                                 : "";
  return error("E119", fmt::format("{} takes per cent such as 10%{}, found '{}'", flag, unit,
                                   shortened(text, 40)));
}

}  // namespace

Result<Tolerances> parse_tolerances(const std::vector<std::string>& texts) {
  Tolerances tolerances;
  for (const std::string& text : texts) {
    auto pair = TRY(parse_assignment(setting("tolerance"), text));
    const auto& [name, value] = pair;
    TRY(parse_word(setting("tolerance"), name, tolerance_classes()));
    if (tolerances.contains(name))
      return error("E114", setting_entry("tolerance", name) + " is given twice");
    auto tolerance = TRY(parse_tolerance(name, value));
    tolerances[name] = tolerance;
  }
  return tolerances;
}

}  // namespace plimsoll::cli
