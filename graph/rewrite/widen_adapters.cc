#include "graph/rewrite/widen_adapters.h"

#include <string_view>

#include "graph/rewrite/editor.h"
#include "graph/rewrite/inserted_cast.h"
#include "graph/rewrite/pattern.h"

namespace plimsoll {
namespace {

constinit const patterns::Fragment kLayer("y = Linear(x)"), kDropout("y = Dropout(x)");

bool is_adapter(const Rewrite& r, NodeId id) {
  const Node& node = r.node(id);
  if (!kLayer.at(r, id) || node.inputs.size() < 2) return false;
  const Tensor& weight = r.tensor(node.inputs[1]);
  return weight.kind == TensorKind::kParameter && weight.dtype == DType::kFloat32 &&
         weight.name.find(".lora_A.") != std::string::npos;
}

}  // namespace

size_t widen_adapters(Graph& graph) {
  if (graph.exporter != Exporter::kPyTorch) return 0;
  Rewrite r(graph);
  size_t count = 0;
  const auto nodes = static_cast<NodeId>(r.nodes());
  for (NodeId id = 0; id < nodes; ++id) {
    if (!is_adapter(r, id)) continue;
    NodeId reader = id;
    const NodeId drop = r.producer(r.node(id).inputs[0]);
    if (drop != kNoNode && kDropout.at(r, drop)) reader = drop;
    const TensorId x = r.node(reader).inputs[0];
    if (r.tensor(x).dtype != DType::kFloat32 || !r.tensor(x).shape) continue;
    r.read_instead(reader, x, widened(r, reader, x));
    ++count;
  }
  r.finish();
  return count;
}

}  // namespace plimsoll
