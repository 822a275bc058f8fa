// Exporters fold batch norm into the layer before it. Training runs both, so the norm is put back,
// with parameters and statistics of its own; the layer's bias goes where it is the fold's product.
#include "graph/ir/module_path.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

bool is_parameter(const Graph& graph, const Node& node, size_t input) {
  return input < node.inputs.size() && node.inputs[input] != kNoTensor &&
         graph.tensors[node.inputs[input]].kind == TensorKind::kParameter;
}

// PyTorch's newer exporter folds in training mode too and says so beside the node (norm_merged). A
// norm that was never trained shifts by zeros, and leaves a layer without a bias. Files without
// that note have other traces: weight and bias both called `onnx::Conv_N` (its TorchScript
// exporter), or a result called `getitem*`, the first of a norm's several (a convolution alone
// gives `conv2d*`).
bool has_folded_norm(const Graph& graph, const Node& node) {
  const bool convolution = node.op == "Conv" || node.op == "ConvTranspose";
  if ((!convolution && node.op != "Gemm") || !is_parameter(graph, node, 1)) return false;
  if (node.notes.norm_merged) return true;
  if (!convolution || !is_parameter(graph, node, 2)) return false;
  const bool by_tracing = graph.tensors[node.inputs[1]].name.starts_with("onnx::Conv") &&
                          graph.tensors[node.inputs[2]].name.starts_with("onnx::Conv");
  const bool by_export = graph.tensors[node.outputs[0]].name.starts_with("getitem");
  return by_tracing || by_export;
}

// The newer exporter calls a bias that it invents after the weight; a layer's own bias keeps its
// name, and stays.
bool has_own_bias(const Graph& graph, const Node& node) {
  if (!is_parameter(graph, node, 2)) return false;
  const std::string& bias = graph.tensors[node.inputs[2]].name;
  return bias != graph.tensors[node.inputs[1]].name + "_bias" && !bias.starts_with("onnx::");
}

// A note beside the node names the norm's module: the layer is the module that its weight is of,
// called just before it.
bool rename_layer(Node& layer, const std::string& weight) {
  const std::string own(module_of(weight));
  std::string& calls = layer.notes.calls;
  if (!layer.notes.norm_merged || calls.empty() || own == weight) return false;
  calls = calls.substr(0, calls.rfind('/') + 1) + own;
  layer.module = own;
  layer.notes.statements.clear();  // they are the norm's
  return true;
}

// Else the names are the layer's, and the norm is a module of its own beside it:
// "/layer1/conv1/Conv" becomes "/layer1/conv1.norm/Conv", module "layer1.conv1" becomes
// "layer1.conv1_norm".
void rename_norm(Node& node) {
  const size_t slash = node.name.rfind('/');
  if (slash != std::string::npos && slash > 0) node.name.insert(slash, ".norm");
  if (slash == std::string::npos && !node.module.empty()) node.module += "_norm";
  if (node.notes.calls.size() > 1) node.notes.calls += "_norm";
  node.notes.statements.clear();  // the layer's
}

}  // namespace

void folded_norms(Finder& f) {
  Rewrite& r = f.r;
  const size_t nodes = r.nodes();
  for (NodeId id = 0; id < nodes; ++id) {
    if (r.dead(id) || !has_folded_norm(r.graph(), r.node(id))) continue;
    // The layer moves in front; its old node becomes the norm and keeps its result.
    Node layer = r.node(id);
    const Tensor weight = r.tensor(layer.inputs[1]);
    const Tensor y = r.tensor(layer.outputs[0]);
    if (!y.shape || y.shape->size() < 2) continue;
    const bool own_bias = has_own_bias(r.graph(), layer);
    if (!own_bias && layer.inputs.size() > 2) layer.inputs.resize(2);
    const bool renamed = rename_layer(layer, weight.name);
    std::string norm = r.node(id).module;
    if (!renamed) norm = (norm.empty() ? std::string(module_of(weight.name)) : norm) + "_norm";
    std::vector<TensorId> inputs{r.insert_before(id, std::move(layer), y.dtype, *y.shape)};
    for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"})
      inputs.push_back(r.add_parameter(norm + part, weight.dtype, {(*y.shape)[1]}));
    Node& made = r.replace(id, "", "BatchNormalization", std::move(inputs));
    if (!renamed) rename_norm(made);
    f.note("batch norm folded into a layer", id, r.deaths());
  }
}

}  // namespace plimsoll::patterns
