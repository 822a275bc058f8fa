#include "estimator/cli/command_line.h"

#include "estimator/report/html/page.h"
#include "graph/base/escape.h"

namespace plimsoll::cli {
namespace {

std::string& remembered() {
  static std::string command;
  return command;
}

}  // namespace

void remember_command(const std::vector<std::string>& arguments) {
  remembered() = "plimsoll";
  for (const std::string& argument : arguments) remembered() += " " + shell_quoted(argument);
}

std::string command_line() { return remembered(); }

Diagnostics without_charts() {
  if (has_charts()) return {};
  return {note("N122", "the page has tables only: this build brought no Vega, which draws charts")};
}

}  // namespace plimsoll::cli
