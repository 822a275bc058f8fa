// releases: which versions of libraries and frameworks there are, from hwdb/releases.json. A
// version that nobody released is a slip, not a wish.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hwdb/hwdb.h"
#include "hwdb/version.h"

namespace plimsoll {

enum class ReleaseState : uint8_t {
  kKnown,    // or of a product that nothing is known of
  kNewer,    // than all that are known, by at most one major version
  kUnknown,  // of the numbers below the newest, or far beyond it
};

struct ReleaseFact {
  ReleaseState state = ReleaseState::kKnown;
  std::string newest, nearest;  // "9.19"; where it is not known
};

// By major and minor number; a major number alone stands for any of its minors. E3xx for a file
// that is not of its form.
Result<ReleaseFact> find_release(const Hwdb& hwdb, std::string_view product,
                                 const Version& version);

}  // namespace plimsoll
