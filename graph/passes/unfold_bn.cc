// Exporters of inference graphs fold batch norm into the convolution before it. Training runs both,
// so the norm is put back, with parameters and statistics of its own; the convolution's bias goes
// where it is the fold's product.
#include "graph/lifetimes.h"
#include "graph/passes/patterns.h"

namespace plimsoll::patterns {
namespace {

// The traces of folding: weight and bias both called `onnx::Conv_N` (PyTorch's TorchScript
// exporter), or a result called `getitem*`, the first of a norm's several (its newer exporter,
// which folds in training mode too; a convolution alone gives `conv2d*`).
bool has_folded_norm(const Graph& graph, const Node& node) {
  const bool convolution = node.op == "Conv" || node.op == "ConvTranspose";
  if (!convolution || node.inputs.size() != 3 || node.inputs[2] == kNoTensor) return false;
  const Tensor& weight = graph.tensors[node.inputs[1]];
  const Tensor& bias = graph.tensors[node.inputs[2]];
  if (weight.kind != TensorKind::kParameter || bias.kind != TensorKind::kParameter) return false;
  const bool by_tracing =
      weight.name.starts_with("onnx::Conv") && bias.name.starts_with("onnx::Conv");
  const bool by_export = graph.tensors[node.outputs[0]].name.starts_with("getitem");
  return by_tracing || by_export;
}

// The newer exporter calls a bias that it invents after the weight; a convolution's own bias keeps
// its name, and stays.
bool has_own_bias(const Graph& graph, const Node& node) {
  const std::string& bias = graph.tensors[node.inputs[2]].name;
  return bias != graph.tensors[node.inputs[1]].name + "_bias" && !bias.starts_with("onnx::");
}

// A module of its own, beside the convolution's: "/layer1/conv1/Conv" becomes
// "/layer1/conv1.norm/Conv", module "layer1.conv1" becomes "layer1.conv1_norm".
void rename_norm(Node& node) {
  const size_t slash = node.name.rfind('/');
  if (slash != std::string::npos && slash > 0) node.name.insert(slash, ".norm");
  if (slash == std::string::npos && !node.module.empty()) node.module += "_norm";
  if (node.notes.calls.size() > 1) node.notes.calls += "_norm";
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
    if (!has_own_bias(r.graph(), conv)) conv.inputs.pop_back();
    std::vector<TensorId> inputs{r.insert_before(id, std::move(conv), y.dtype, *y.shape)};
    for (const char* part :
         {"/norm.weight", "/norm.bias", "/norm.running_mean", "/norm.running_var"}) {
      inputs.push_back(r.add_parameter(bias.name + part, bias.dtype, *bias.shape));
    }
    rename_norm(r.replace(id, "", "BatchNormalization", std::move(inputs)));
    f.note("batch norm folded into a convolution", id, r.deaths());
  }
}

}  // namespace plimsoll::patterns
