// The unit that tests of memory count in.
#pragma once

#include <cstdint>

namespace plimsoll::test {

inline constexpr int64_t kMiB = int64_t{1} << 20;

}  // namespace plimsoll::test
