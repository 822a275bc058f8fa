// The ranks that a recorded step was one of, and along which axes they told each other something.
#pragma once

#include <vector>

#include "graph/ir/mesh.h"
#include "graph/json/object.h"

namespace plimsoll {

struct RecordedWorld {
  Mesh mesh;  // with the rank that was recorded
  // By number of a group: the axes that its ranks lie along, innermost first. A group of all ranks
  // lies along every axis.
  std::vector<std::vector<Axis>> groups;
};

// The keys "world" ([ranks, rank]) and "groups" ([axis, ranks apart, ranks] each, "tp", 1, 8).
// Faults go to `record`: E281 where the groups are those of no mesh. Cost: linear.
RecordedWorld read_recorded_world(JsonObject& record);

}  // namespace plimsoll
