// The command as it was given, which a report names so that it can be repeated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::cli {

// Before a verb runs, on its thread.
void remember_command(std::string_view program, const std::vector<std::string>& arguments);
// "plimsoll estimate 'my model.onnx' --gpu l4", as a POSIX shell reads it.
std::string command_line();

}  // namespace plimsoll::cli
