// A list of layers of a config -> nodes. Repeats and blocks have lists of their own within.
#pragma once

#include "graph/config/network_builder.h"

namespace plimsoll::config {

// Adds the layers in order; the last one's outputs are then scope.previous. Faults go to the
// builder; it stops at the first.
void add_layers(NetworkBuilder& builder, const JsonValue::List& layers, Scope& scope,
                const Environment& environment);

}  // namespace plimsoll::config
