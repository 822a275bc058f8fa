#include "graph/parallel/stage.h"

#include <algorithm>
#include <set>
#include <utility>

#include "graph/base/try.h"
#include "graph/parallel/stage_check.h"

namespace plimsoll::parallel {
namespace {

// Nodes [first, last), by the blocks of a chunk.
struct Range {
  NodeId first = 0, last = 0;
};

std::vector<Range> ranges_of(const Graph& graph, const std::vector<Unit>& blocks,
                             const ParallelPlan& plan) {
  std::vector<Range> ranges;
  size_t before = 0;
  for (const int64_t count : blocks_of_chunks(graph, blocks, plan)) {
    const NodeId first = ranges.empty() ? 0 : ranges.back().last;
    before += static_cast<size_t>(count);
    const bool is_last = before == blocks.size();
    ranges.push_back(
        {.first = first,
         .last = is_last ? static_cast<NodeId>(graph.nodes.size()) : blocks[before].first});
  }
  return ranges;
}

// Values that some weight takes part in.
std::vector<char> made_of_weights(const Graph& graph, const std::vector<WeightRole>& roles) {
  std::vector<char> made(graph.tensors.size(), 0);
  for (TensorId id = 0; id < graph.tensors.size(); ++id)
    made[id] = graph.tensors[id].kind == TensorKind::kParameter && is_weight(roles[id]) ? 1 : 0;
  for (const Node& node : graph.nodes) {
    const bool any = std::ranges::any_of(
        node.inputs, [&](TensorId in) { return in != kNoTensor && made[in] != 0; });
    if (!any) continue;
    for (const TensorId out : node.outputs) {
      if (out != kNoTensor) made[out] = 1;
    }
  }
  return made;
}

// What of the graph a chunk runs and reads.
struct Cut {
  std::vector<char> nodes, tensors;
  std::vector<TensorId> received, sent;
};

class Cutter {
 public:
  Cutter(const Graph& graph, const std::vector<char>& made, const Range& range)
      : graph_(graph), made_(made), range_(range) {
    cut_.nodes.assign(graph.nodes.size(), 0);
    cut_.tensors.assign(graph.tensors.size(), 0);
  }

  Cut cut() {
    for (NodeId id = range_.first; id < range_.last; ++id) take(id);
    std::ranges::sort(cut_.received);
    cut_.sent = sent();
    return std::move(cut_);
  }

 private:
  bool is_inside(NodeId id) const { return id >= range_.first && id < range_.last; }

  void take(NodeId id) {
    if (std::exchange(cut_.nodes[id], char{1}) != 0) return;
    for (const TensorId in : graph_.nodes[id].inputs) {
      if (in == kNoTensor || std::exchange(cut_.tensors[in], char{1}) != 0) continue;
      const NodeId maker = graph_.tensors[in].producer;
      if (maker == kNoNode || is_inside(maker)) continue;
      if (made_[in] != 0) {
        cut_.received.push_back(in);
      } else {
        take(maker);
      }
    }
  }

  // What later chunks read of this one.
  std::vector<TensorId> sent() const {
    std::vector<char> wanted(graph_.tensors.size(), 0);
    for (NodeId id = range_.last; id < graph_.nodes.size(); ++id) {
      for (const TensorId in : graph_.nodes[id].inputs) {
        if (in != kNoTensor) wanted[in] = 1;
      }
    }
    std::vector<TensorId> sent;
    for (NodeId id = range_.first; id < range_.last; ++id) {
      for (const TensorId out : graph_.nodes[id].outputs) {
        if (out != kNoTensor && wanted[out] != 0 && made_[out] != 0) sent.push_back(out);
      }
    }
    return sent;
  }

  const Graph& graph_;
  const std::vector<char>& made_;
  Range range_;
  Cut cut_;
};

// One chunk behind the other; weights and inputs of other stages are none of this one's.
class Assembly {
 public:
  explicit Assembly(const Graph& whole)
      : whole_(whole), stage_{.graph = whole, .chunks = {}}, read_(whole.tensors.size(), 0) {
    stage_.graph.nodes.clear();
    stage_.graph.outputs.clear();
    for (Tensor& tensor : stage_.graph.tensors) tensor.producer = kNoNode;
  }

  void add(Cut cut, bool is_last) {
    Graph& graph = stage_.graph;
    StageChunk chunk{.first = static_cast<NodeId>(graph.nodes.size())};
    for (NodeId id = 0; id < whole_.nodes.size(); ++id) {
      if (cut.nodes[id] != 0) graph.add_node(whole_.nodes[id]);
    }
    for (TensorId id = 0; id < read_.size(); ++id) read_[id] |= cut.tensors[id];
    chunk.last = static_cast<NodeId>(graph.nodes.size());
    chunk.received = std::move(cut.received);
    chunk.outputs = is_last ? whole_.outputs : std::move(cut.sent);
    chunk.is_last = is_last;
    graph.outputs.insert(graph.outputs.end(), chunk.outputs.begin(), chunk.outputs.end());
    stage_.chunks.push_back(std::move(chunk));
  }

  StageGraph finish() {
    for (TensorId id = 0; id < read_.size(); ++id) {
      Tensor& tensor = stage_.graph.tensors[id];
      const bool others = read_[id] == 0 && tensor.kind == TensorKind::kParameter && !tensor.spare;
      if (others) tensor.kind = TensorKind::kValue;
    }
    std::erase_if(stage_.graph.inputs, [&](TensorId id) { return read_[id] == 0; });
    return std::move(stage_);
  }

 private:
  const Graph& whole_;
  StageGraph stage_;
  std::vector<char> read_;
};

// Trained weights that nodes of this stage and of others read.
std::vector<TensorId> tied_weights(const Graph& graph, const std::vector<WeightRole>& roles,
                                   const std::vector<Range>& ranges, const Mesh& mesh) {
  const auto stages = static_cast<size_t>(mesh.extent(Axis::kStage));
  const auto here = static_cast<size_t>(mesh.coordinate(Axis::kStage));
  std::vector<char> mine(graph.tensors.size(), 0), others(graph.tensors.size(), 0);
  for (size_t chunk = 0; chunk < ranges.size(); ++chunk) {
    std::vector<char>& read = chunk % stages == here ? mine : others;
    for (NodeId id = ranges[chunk].first; id < ranges[chunk].last; ++id) {
      for (const TensorId in : graph.nodes[id].inputs) {
        if (in != kNoTensor) read[in] = 1;
      }
    }
  }
  std::vector<TensorId> tied;
  for (TensorId id = 0; id < mine.size(); ++id) {
    const bool weight =
        graph.tensors[id].kind == TensorKind::kParameter && roles[id] == WeightRole::kTrained;
    if (weight && mine[id] != 0 && others[id] != 0) tied.push_back(id);
  }
  return tied;
}

int64_t matrix_elements(const Graph& graph, TensorId id) {
  if (id == kNoTensor) return 0;
  const Tensor& t = graph.tensors[id];
  if (t.kind != TensorKind::kParameter || !t.shape || t.shape->size() < 2) return 0;
  return elements(*t.shape).constant().value_or(0);
}

// Of the layers behind all blocks.
int64_t head_elements(const Graph& graph, NodeId after) {
  std::set<TensorId> read;
  for (NodeId id = after; id < graph.nodes.size(); ++id)
    read.insert(graph.nodes[id].inputs.begin(), graph.nodes[id].inputs.end());
  int64_t sum = 0;
  for (const TensorId id : read) sum += matrix_elements(graph, id);
  return sum;
}

// A chunk ends with the block that takes the sum of costs beyond its share of all
// (nanotron/models/base.py, build_model(): block_cumulative_costs, thresholds).
std::vector<int64_t> by_cost(const Graph& graph, const std::vector<Unit>& blocks, int64_t chunks) {
  std::vector<int64_t> costs;
  int64_t all = head_elements(graph, blocks.back().last);
  for (const Unit& block : blocks) {
    int64_t cost = 0;
    for (const TensorId id : block.weights) cost += matrix_elements(graph, id);
    costs.push_back(cost);
    all += cost;
  }
  std::vector<int64_t> counts(static_cast<size_t>(chunks), 0);
  int64_t sum = 0;
  size_t chunk = 0;
  for (size_t i = 0; i < costs.size(); ++i) {
    sum += costs[i];
    ++counts[chunk];
    // Each chunk behind has a block, whatever blocks cost.
    const bool needed = costs.size() - i - 1 <= counts.size() - chunk - 1;
    const bool beyond = static_cast<double>(sum) * static_cast<double>(chunks) >
                        static_cast<double>(all) * static_cast<double>(chunk + 1);
    if ((beyond || needed) && chunk + 1 < counts.size()) ++chunk;
  }
  return counts;
}

}  // namespace

int64_t blocks_of_stage(int64_t blocks, int64_t stages, int64_t stage) {
  return blocks / stages + (stage < blocks % stages ? 1 : 0);
}

std::vector<int64_t> blocks_of_chunks(const Graph& graph, const std::vector<Unit>& blocks,
                                      const ParallelPlan& plan) {
  const int64_t chunks = plan.mesh.extent(Axis::kStage) * plan.chunks;
  if (plan.balance == StageBalance::kCost) return by_cost(graph, blocks, chunks);
  std::vector<int64_t> counts;
  for (int64_t i = 0; i < chunks; ++i)
    counts.push_back(blocks_of_stage(static_cast<int64_t>(blocks.size()), chunks, i));
  return counts;
}

TrainingPlan plan_of(const StageGraph& stage, const std::vector<OutputLoss>& losses) {
  TrainingPlan plan = plan_for(stage.graph);
  const std::vector<TensorId> inputs = std::exchange(plan.networks.front().inputs, {});
  plan.networks.clear();
  for (const StageChunk& chunk : stage.chunks) {
    plan.networks.push_back({.name = {},
                             .first = chunk.first,
                             .last = chunk.last,
                             .inputs = inputs,
                             .outputs = chunk.outputs,
                             .losses = losses,
                             .received = chunk.received,
                             .sends = !chunk.is_last});
  }
  plan.tied = stage.tied;
  return plan;
}

Result<StageGraph> stage_of(const Graph& graph, const std::vector<WeightRole>& roles,
                            const ParallelPlan& plan) {
  std::vector<Unit> blocks = units_below(graph, "");
  find_weights(graph, blocks);
  TRY(check_blocks(static_cast<int64_t>(blocks.size()), plan));
  const std::vector<Range> ranges = ranges_of(graph, blocks, plan);
  const std::vector<char> made = made_of_weights(graph, roles);
  const auto stages = static_cast<size_t>(plan.mesh.extent(Axis::kStage));
  Assembly assembly(graph);
  for (auto at = static_cast<size_t>(plan.mesh.coordinate(Axis::kStage)); at < ranges.size();
       at += stages)
    assembly.add(Cutter(graph, made, ranges[at]).cut(), at + 1 == ranges.size());
  StageGraph stage = assembly.finish();
  stage.blocks = static_cast<int64_t>(blocks.size());
  stage.tied = tied_weights(graph, roles, ranges, plan.mesh);
  return stage;
}

}  // namespace plimsoll::parallel
