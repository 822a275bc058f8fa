// Keys of measured records that are notes: what each means, and which make another run of it. A run
// is compared only where all that makes it another one is modelled.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hwdb/measured/run.h"

namespace plimsoll {

struct IgnoredKey {
  std::string_view name;
  std::string_view meaning;
  bool changes_run = false;  // else it says more of a run, and nothing another
  // Values, as JSON, with which the run is as if the key were not there; separated by blanks.
  std::string_view neutral = {};
};
std::span<const IgnoredKey> ignored_keys();

// The name of the first note that makes the run another one than the rest of its record says; empty
// where there is none.
std::string_view changing_key(const MeasuredRun& run);

}  // namespace plimsoll
