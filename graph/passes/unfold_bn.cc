// Exporters of inference graphs fold batch norm into the convolution before it. Training runs both,
// so the norm is put back, with parameters and statistics of its own; the convolution's bias, the
// fold's product, goes.
#include "graph/passes/patterns.h"

namespace plimsoll::patterns {
namespace {

// The traces of folding: weight and bias both called `onnx::Conv_N` (PyTorch's TorchScript
// exporter), or a result called `getitem*` with a bias called `*_bias` (its newer exporter, which
// folds in training mode too).
bool has_folded_norm(const Graph& graph, const Node& node) {
  const bool convolution = node.op == "Conv" || node.op == "ConvTranspose";
  if (!convolution || node.inputs.size() != 3 || node.inputs[2] == kNoTensor) return false;
  const Tensor& weight = graph.tensors[node.inputs[1]];
  const Tensor& bias = graph.tensors[node.inputs[2]];
  if (weight.kind != TensorKind::kParameter || bias.kind != TensorKind::kParameter) return false;
  const bool by_tracing =
      weight.name.starts_with("onnx::Conv") && bias.name.starts_with("onnx::Conv");
  const bool by_export =
      graph.tensors[node.outputs[0]].name.starts_with("getitem") && bias.name.ends_with("_bias");
  return by_tracing || by_export;
}

}  // namespace

void folded_norms(Finder& f) {
  Rewrite& r = f.r;
  const size_t nodes = r.nodes();
  for (NodeId id = 0; id < nodes; ++id) {
    if (r.dead(id) || !has_folded_norm(r.graph(), r.node(id))) continue;
    // The convolution moves in front; its old node becomes the norm and keeps its result.
    Node conv = r.node(id);
    const Tensor bias = r.tensor(conv.inputs.back());
    const Tensor y = r.tensor(conv.outputs[0]);
    conv.inputs.pop_back();
    std::vector<TensorId> inputs{r.insert_before(id, std::move(conv), y.dtype, *y.shape)};
    for (const char* part :
         {"/norm.weight", "/norm.bias", "/norm.running_mean", "/norm.running_var"}) {
      inputs.push_back(r.add_parameter(bias.name + part, bias.dtype, *bias.shape));
    }
    r.replace(id, "", "BatchNormalization", std::move(inputs));
    f.note("batch norm folded into a convolution", id, r.deaths());
  }
}

}  // namespace plimsoll::patterns
