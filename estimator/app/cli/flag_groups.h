// Groups of flags in help.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::cli {

// Of flags that shape an answer, and of those that a verb alone has.
inline constexpr const char* kOutputGroup = "Output";
inline constexpr const char* kVerbGroup = "Question";

// What follows the group's name where --help only names a flag, and where it is silent of it.
inline constexpr std::string_view kRareGroup = ", rarely", kDetailGroup = ", in detail";
inline std::string rarely(std::string_view group) {
  return std::string(group) + std::string(kRareGroup);
}
inline std::string in_detail(std::string_view group) {
  return std::string(group) + std::string(kDetailGroup);
}

}  // namespace plimsoll::cli
