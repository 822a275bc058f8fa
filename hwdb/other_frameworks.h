// Frameworks and training programs that people name and that have no profile here.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

// What to say of one, by its name without a version, lower case; empty for a name that is none.
std::string_view help_for_framework(std::string_view name);

// "pytorch-2.1" of "PyTorch 2.1", "pytorch==2.1", "pytorch2.1" and "pytorch@v2.1": lower case.
std::string framework_name(std::string_view written);

}  // namespace plimsoll
