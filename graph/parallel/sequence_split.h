// Sequence split: what ranks along Axis::kTensor would all have alike between the layers that they
// share is parted along the sequence (Korthikanti et al., arXiv:2205.05198).
#pragma once

#include <vector>

#include "graph/parallel/tensor_split.h"

namespace plimsoll::parallel {

// From the sums on, and from what is `received` of another stage, up to the layers that read what
// all ranks have: the dimension before the last. Cost: linear in the graph.
void split_sequence(const Graph& graph, const std::vector<TensorId>& received, TensorSplit& split);

}  // namespace plimsoll::parallel
