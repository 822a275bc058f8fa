// Whether ranks along Axis::kTensor can share a network.
#pragma once

#include "graph/base/diagnostic.h"
#include "graph/ir/recipe.h"
#include "graph/parallel/tensor_split.h"

namespace plimsoll::parallel {

// `split`: of the graph, between the recipe's ranks. E120 where they do not divide the layers and
// heads of its blocks, with the nearest number that does, or where quantized weights would be split
// that no program splits. Cost: where it is refused, a split for each smaller
// number of ranks.
Result<void> check_split(const Graph& graph, const Recipe& recipe, const TensorSplit& split);

// What a user must know of a split: W358 of experts that each rank has whole, W360 of heads.
Diagnostics split_notes(const Recipe& recipe, const TensorSplit& split);

}  // namespace plimsoll::parallel
