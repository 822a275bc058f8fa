// A command, from its arguments to its exit status.
#pragma once

#include <string>
#include <vector>

namespace plimsoll::cli {

// {"estimate", "builtin:resnet50", "--gpu", "l4"}, without the program's name. What it says goes to
// standard output and standard error, or to whoever listens (messages.h).
int run_command(const std::vector<std::string>& arguments);

}  // namespace plimsoll::cli
