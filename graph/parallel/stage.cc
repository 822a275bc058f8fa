#include "graph/parallel/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "graph/base/setting.h"
#include "graph/parallel/unit.h"

namespace plimsoll::parallel {
namespace {

// Nodes [first, last), by the blocks of the stage.
struct Range {
  NodeId first = 0, last = 0;
};

Range nodes_of(const Graph& graph, const std::vector<Unit>& blocks, int64_t stages, int64_t stage) {
  const auto count = static_cast<int64_t>(blocks.size());
  int64_t before = 0;
  for (int64_t i = 0; i < stage; ++i) before += blocks_of_stage(count, stages, i);
  const int64_t last = before + blocks_of_stage(count, stages, stage);
  const auto begin = [&](int64_t block) { return blocks[static_cast<size_t>(block)].first; };
  return {.first = stage == 0 ? 0 : begin(before),
          .last = stage + 1 == stages ? static_cast<NodeId>(graph.nodes.size()) : begin(last)};
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

class Cutter {
 public:
  Cutter(const Graph& graph, const std::vector<WeightRole>& roles, const Range& range)
      : graph_(graph),
        made_(made_of_weights(graph, roles)),
        range_(range),
        chosen_(graph.nodes.size(), 0),
        read_(graph.tensors.size(), 0) {}

  StageGraph cut(bool is_last) {
    StageGraph stage{.graph = {}, .received = {}, .is_last = is_last};
    for (NodeId id = range_.first; id < range_.last; ++id) take(id, stage);
    std::ranges::sort(stage.received);
    stage.graph = graph_;
    if (!is_last) stage.graph.outputs = sent();
    put_nodes(stage.graph);
    put_tensors(stage.graph);
    return stage;
  }

 private:
  bool is_inside(NodeId id) const { return id >= range_.first && id < range_.last; }

  void take(NodeId id, StageGraph& stage) {
    if (std::exchange(chosen_[id], char{1}) != 0) return;
    for (const TensorId in : graph_.nodes[id].inputs) {
      if (in == kNoTensor || std::exchange(read_[in], char{1}) != 0) continue;
      const NodeId maker = graph_.tensors[in].producer;
      if (maker == kNoNode || is_inside(maker)) continue;
      if (made_[in] != 0) {
        stage.received.push_back(in);
      } else {
        take(maker, stage);
      }
    }
  }

  // What later stages read of this one, or of those before it.
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

  void put_nodes(Graph& graph) const {
    graph.nodes.clear();
    for (Tensor& tensor : graph.tensors) tensor.producer = kNoNode;
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (chosen_[id] != 0) graph.add_node(graph_.nodes[id]);
    }
  }

  // Weights and inputs of other stages are none of this one's.
  void put_tensors(Graph& graph) const {
    for (TensorId id = 0; id < graph.tensors.size(); ++id) {
      Tensor& tensor = graph.tensors[id];
      const bool others = read_[id] == 0 && tensor.kind == TensorKind::kParameter && !tensor.spare;
      if (others) tensor.kind = TensorKind::kValue;
    }
    std::erase_if(graph.inputs, [&](TensorId id) { return read_[id] == 0; });
  }

  const Graph& graph_;
  std::vector<char> made_;
  Range range_;
  std::vector<char> chosen_, read_;  // nodes; tensors
};

}  // namespace

int64_t blocks_of_stage(int64_t blocks, int64_t stages, int64_t stage) {
  return blocks / stages + (stage < blocks % stages ? 1 : 0);
}

Result<StageGraph> stage_of(const Graph& graph, const std::vector<WeightRole>& roles,
                            const Mesh& mesh) {
  const int64_t stages = mesh.extent(Axis::kStage);
  const std::vector<Unit> blocks = units_below(graph, "");
  if (static_cast<int64_t>(blocks.size()) < stages) {
    return error("E120",
                 fmt::format("{}: the network has {} repeated blocks to make stages of",
                             setting("pp", std::to_string(stages)), blocks.size()),
                 {},
                 blocks.size() > 1
                     ? "nearest that works: " + setting("pp", std::to_string(blocks.size()))
                     : "blocks are found by numbered modules, such as h.0");
  }
  const int64_t stage = mesh.coordinate(Axis::kStage);
  const Range range = nodes_of(graph, blocks, stages, stage);
  return Cutter(graph, roles, range).cut(stage + 1 == stages);
}

}  // namespace plimsoll::parallel
