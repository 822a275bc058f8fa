// The settings as keywords of Python's functions, for editors and type checkers: the module
// plimsoll._flags, which the package's build asks for.
#pragma once

#include <string>

namespace plimsoll::cli {

std::string python_keywords();

}  // namespace plimsoll::cli
