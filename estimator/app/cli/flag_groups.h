// Groups of flags in help.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::cli {

// Of flags that shape an answer, and of those that a verb alone has.
inline constexpr const char* kOutputGroup = "Output";
inline constexpr const char* kVerbGroup = "Question";

// The group of a flag of `group` that --help only names.
inline constexpr std::string_view kRareGroup = ", rarely";
inline std::string rarely(std::string_view group) {
  return std::string(group) + std::string(kRareGroup);
}

}  // namespace plimsoll::cli
