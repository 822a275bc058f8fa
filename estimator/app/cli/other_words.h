// Flags of other programs that people type here, and what stands for them.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::cli {

// One line of help for a flag that this program does not have ("--lora", "-b"); empty where nobody
// is known to have it.
std::string_view help_for_other(std::string_view flag);

}  // namespace plimsoll::cli
