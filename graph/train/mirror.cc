#include "graph/train/mirror.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "graph/base/among.h"

namespace plimsoll {
namespace {

bool is_product(const Node& node) {
  static constexpr std::array<std::string_view, 5> kProducts = {"Conv", "ConvTranspose", "Gemm",
                                                                "MatMul", "Linear"};
  return among(node.op, kProducts);
}

bool is_mirrored(const Node& node) {
  static constexpr std::array<std::string_view, 6> kKept = {"Concat", "Dropout", "LSTM",
                                                            "GRU",    "RNN",     "Recurrent"};
  return !is_product(node) && std::find(kKept.begin(), kKept.end(), node.op) == kKept.end();
}

}  // namespace

std::vector<ModuleRange> mirrored_runs(const Graph& graph) {
  std::vector<ModuleRange> runs;
  const auto count = static_cast<NodeId>(graph.nodes.size());
  for (NodeId id = 0; id < count;) {
    const NodeId first = id;
    while (id < count && is_mirrored(graph.nodes[id])) ++id;
    if (id == first) {
      ++id;
      continue;
    }
    ModuleRange run{.module = "mirror", .first = first, .last = id};
    if (id < count && is_product(graph.nodes[id])) {
      const TensorId read = graph.nodes[id].inputs.front();
      const NodeId maker = read == kNoTensor ? kNoNode : graph.tensors[read].producer;
      if (maker != kNoNode && maker >= first) run.last = ++id;
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace plimsoll
