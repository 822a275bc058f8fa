#include "estimator/app/cli/command_line.h"

#include "graph/base/escape.h"

namespace plimsoll::cli {
namespace {

std::string& remembered() {
  thread_local std::string command;
  return command;
}

}  // namespace

void remember_command(std::string_view program, const std::vector<std::string>& arguments) {
  remembered() = program;
  for (const std::string& argument : arguments) remembered() += " " + shell_quoted(argument);
}

std::string command_line() { return remembered(); }

}  // namespace plimsoll::cli
