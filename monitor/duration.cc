#include "monitor/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "estimator/app/report/text.h"
#include "graph/base/escape.h"

namespace plimsoll::monitor {

Result<int64_t> parse_duration(std::string_view flag, std::string_view text, int64_t low,
                               int64_t high) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}}};
  double value = 0;
  const bool digit = !text.empty() && text.front() >= '0' && text.front() <= '9';
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  for (const auto& [name, nanoseconds] : kUnits) {
    if (!digit || code != std::errc() || unit != name) continue;
    const double ns = std::round(value * nanoseconds);
    if (ns >= static_cast<double>(low) && ns <= static_cast<double>(high))
      return static_cast<int64_t>(ns);
  }
  return error("E103",
               fmt::format("{} must be a time from {} to {}, such as 20ms or 1s, found '{}'", flag,
                           human_time(low), human_time(high), shortened(text, 40)));
}

}  // namespace plimsoll::monitor
