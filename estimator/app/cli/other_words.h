// Flags of other programs that people type here, and what stands for them.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::cli {

// One line of help for a flag that this program does not have ("--lora", "-b"); empty where nobody
// is known to have it.
std::string_view help_for_other(std::string_view flag);

// ... as a parameter of a sweep's plan, where it can mean nothing of the user's program alone.
std::string_view help_for_parameter(std::string_view flag);

// The setting, or the dimension "sequence", that takes the same values; empty where none does.
std::string_view setting_for_other(std::string_view flag);

}  // namespace plimsoll::cli
