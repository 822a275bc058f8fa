#include "estimator/app/report/junit.h"

#include <fmt/format.h>

#include "estimator/app/report/markup_text.h"
#include "estimator/app/report/spelling.h"
#include "estimator/app/report/validation.h"

namespace plimsoll {
namespace {

std::string figure_of(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "unknown";
}

std::string attribute(std::string_view name, std::string_view value) {
  return fmt::format(" {}=\"{}\"", name, escaped_markup(value));
}

}  // namespace

void JunitReport::add(const ValidationLine& line, LineState state, const std::string& allowed) {
  ++count_;
  const std::string& what = line.model.empty() ? line.op : line.model;
  cases_ += "    <testcase" + attribute("classname", what) +
            attribute("name", fmt::format("{}:{} {}", line.file, line.index, line.quantity));
  if (state == LineState::kSkipped) {
    cases_ += "><skipped" + attribute("message", spelled(line.skipped)) + "/></testcase>\n";
    return;
  }
  const std::string figures =
      fmt::format("measured {}, predicted {} ({} to {})", figure_of(line.measured),
                  figure_of(line.predicted), figure_of(line.low), figure_of(line.high));
  if (state == LineState::kOutside) {
    const std::string why = line.gap ? "; the largest part is " + gap_text(*line.gap) : "";
    cases_ += "><failure" +
              attribute("message", fmt::format("{}, allowed {}{}", figures, allowed, why)) +
              "/></testcase>\n";
    return;
  }
  cases_ += fmt::format("><system-out>{}</system-out></testcase>\n", escaped_markup(figures));
}

std::string JunitReport::to_xml(const Gate& gate) const {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"plimsoll.validate\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" "
      "errors=\"0\">\n{}  </testsuite>\n</testsuites>\n",
      count_, gate.outside, gate.skipped, cases_);
}

}  // namespace plimsoll
