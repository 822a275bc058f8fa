// Stage: the part of a network that ranks at one place along Axis::kStage run: blocks in a row, the
// first with what comes before all blocks, the last with what comes behind. What weights take part
// in is received from the stage before; what is made of inputs alone, masks and positions, each
// stage makes itself.
#pragma once

#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/ir/graph.h"
#include "graph/ir/mesh.h"
#include "graph/ir/weight_role.h"

namespace plimsoll::parallel {

struct StageGraph {
  Graph graph;  // with nodes and tensors of the stage alone; tensors keep their ids
  std::vector<TensorId> received;  // from the stage before: none for the first
  bool is_last = true;             // else the graph's outputs are sent on
};

// Of the mesh's rank; blocks that the stages do not divide go to the first ones. A weight that
// several stages read is on each of them. `roles`: of the graph's tensors.
// E120 where there are fewer blocks than stages. Cost: linear in the graph.
Result<StageGraph> stage_of(const Graph& graph, const std::vector<WeightRole>& roles,
                            const Mesh& mesh);

// How many blocks the stage at this place has.
int64_t blocks_of_stage(int64_t blocks, int64_t stages, int64_t stage);

}  // namespace plimsoll::parallel
