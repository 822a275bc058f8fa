#pragma once

#include <string_view>

namespace plimsoll {

#ifndef PLIMSOLL_VERSION
#error "the build defines PLIMSOLL_VERSION"
#endif
inline constexpr std::string_view kVersion = PLIMSOLL_VERSION;

}  // namespace plimsoll
