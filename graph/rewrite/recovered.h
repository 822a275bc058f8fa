// A group of nodes that recover() found to be one operator.
#pragma once

#include <cstddef>
#include <string_view>

#include "graph/ir/graph.h"

namespace plimsoll {

struct Recovered {
  std::string_view pattern;  // "GELU", "scaled dot-product attention"
  NodeId node = kNoNode;     // what it became, in the rewritten graph
  size_t nodes = 0;          // how many nodes of the file it stands for
};

// The pattern of weights that an exporter merged, one entry for each that is a module's own again.
inline constexpr std::string_view kMergedWeights = "weight of a module, merged with another's";

}  // namespace plimsoll
