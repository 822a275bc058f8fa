// "parallel" of measured records, which sources write as an object: {"fsdp": 8, "tp": 2}; ours is
// the text of the setting of its name.
#pragma once

#include "graph/json/value.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

// "fsdp=8,tp=2": axes of more than one rank, in the object's order. The object's "dp" counts all
// ranks with samples of their own, the setting's the groups of zero_group ranks between which
// nothing is sharded; "ep", which lies within it, is taken out of it.
void take_parallel(const JsonValue& object, MeasuredRun& run);

}  // namespace plimsoll
