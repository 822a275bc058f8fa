// Keys of measured records that sources write in more than one type.
#pragma once

#include <string_view>

#include "graph/json/object.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

bool is_loose_key(std::string_view key);

// Into the run; faults go to the object's.
void take_loose_keys(JsonObject& record, MeasuredRun& run);

}  // namespace plimsoll
