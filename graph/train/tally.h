// Nodes that a warning counts, and of which it names the first.
#pragma once

#include <cstdint>

#include "graph/ir/graph.h"

namespace plimsoll {

// How many nodes of a kind there are, and which is the first.
struct Tally {
  int64_t count = 0;
  NodeId first = kNoNode;
  void add(NodeId node) {
    if (count++ == 0) first = node;
  }
};

}  // namespace plimsoll
