// Sequence parts: what ranks along Axis::kTensor would all have alike between the layers that they
// share is parted along the sequence (Korthikanti et al., arXiv:2205.05198).
#pragma once

#include <map>
#include <set>
#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll::parallel {

// The nodes that ranks share: those that read what all have, those whose results are summed, and
// of which values each has a part.
struct SharedNodes {
  const std::set<NodeId>& begins;
  const std::set<NodeId>& ends;
  const std::map<TensorId, size_t>& values;
};

// From the sums on, and from what is `received` of another stage, up to the layers that read what
// all ranks have: the dimension before the last. A sum that is added to what ranks have whole stays
// so. Cost: linear in the graph.
std::map<TensorId, size_t> sequence_parts(const Graph& graph, const SharedNodes& shared,
                                          const std::vector<TensorId>& received);

}  // namespace plimsoll::parallel
