// Stage: the part of a network that ranks at one place along Axis::kStage run: blocks in a row, the
// first with what comes before all blocks, the last with what comes behind; or several such chunks.
// What weights take part in is received from the chunk before; what is made of inputs alone, masks
// and positions, each chunk makes itself.
#pragma once

#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/ir/graph.h"
#include "graph/ir/parallel_plan.h"
#include "graph/ir/training_plan.h"
#include "graph/ir/weight_role.h"
#include "graph/parallel/unit.h"

namespace plimsoll::parallel {

// Nodes [first, last) of the stage's graph.
struct StageChunk {
  NodeId first = 0, last = 0;
  std::vector<TensorId> received{};  // from the chunk before: none for the first
  std::vector<TensorId> outputs{};   // sent on, or the network's own
  bool is_last = true;               // of the network
};

struct StageGraph {
  Graph graph;  // with nodes and tensors of the stage alone; tensors keep their ids
  std::vector<StageChunk> chunks;
  int64_t blocks = 0;  // of the whole network
  // Weights that another stage has too, as a head that is the table of tokens: their gradients are
  // summed over both (megatron/core/distributed/finalize_model_grads.py).
  std::vector<TensorId> tied{};
};

// Of the plan's rank. `roles`: of the graph's tensors. E120 where there are fewer blocks than
// chunks. Cost: linear in the graph, for each chunk.
Result<StageGraph> stage_of(const Graph& graph, const std::vector<WeightRole>& roles,
                            const ParallelPlan& plan);

// Its step: a network for each chunk. `losses`: of the whole network.
TrainingPlan plan_of(const StageGraph& stage, const std::vector<OutputLoss>& losses);

// How many blocks each chunk of all stages has, in the network's order: those that the chunks do
// not divide go to the first ones. `blocks` with their weights.
std::vector<int64_t> blocks_of_chunks(const Graph& graph, const std::vector<Unit>& blocks,
                                      const ParallelPlan& plan);

// How many of them a stage has, where all have one chunk and as many blocks.
int64_t blocks_of_stage(int64_t blocks, int64_t stages, int64_t stage);

}  // namespace plimsoll::parallel
