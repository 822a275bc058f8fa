// Exporters fold batch norm into the layer before it. Training runs both, so the norm is put back,
// with parameters and statistics of its own; the layer's bias goes where it is the fold's product.
#include "graph/ir/module_path.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

bool is_parameter(const Rewrite& r, TensorId tensor) {
  return tensor != kNoTensor && r.tensor(tensor).kind == TensorKind::kParameter;
}

// PyTorch's newer exporter folds in training mode too and says so beside the node (norm_merged). A
// norm that was never trained shifts by zeros, and leaves a layer without a bias.
bool is_said(const Match& m) {
  const auto& y = m.r.tensor(m["y"]).shape;
  return is_parameter(m.r, m["w"]) && m.root().notes.norm_merged && y && y->size() >= 2;
}

// Files without that note have other traces: weight and bias both called `onnx::Conv_N` (its
// TorchScript exporter), or a result called `getitem*`, the first of a norm's several (a
// convolution alone gives `conv2d*`).
bool is_traced(const Match& m) {
  const auto& y = m.r.tensor(m["y"]).shape;
  if (!is_parameter(m.r, m["w"]) || !is_parameter(m.r, m["b"]) || !y || y->size() < 2) return false;
  return m.r.tensor(m["y"]).name.starts_with("getitem") ||
         (m.r.tensor(m["w"]).name.starts_with("onnx::Conv") &&
          m.r.tensor(m["b"]).name.starts_with("onnx::Conv"));
}

// The newer exporter calls a bias that it invents after the weight; a layer's own bias keeps its
// name, and stays.
bool has_own_bias(const Match& m) {
  if (!is_parameter(m.r, m["b"])) return false;
  const std::string& bias = m.r.tensor(m["b"]).name;
  return bias != m.r.tensor(m["w"]).name + "_bias" && !bias.starts_with("onnx::");
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

// The layer moves in front; its old node becomes the norm and keeps its result.
NodeId unfold_norm(Finder& f, const Match& m) {
  Rewrite& r = f.r;
  Node layer = m.root();
  const Tensor weight = r.tensor(m["w"]);
  const Tensor y = r.tensor(m["y"]);
  if (!has_own_bias(m) && layer.inputs.size() > 2) layer.inputs.resize(2);
  const bool renamed = rename_layer(layer, weight.name);
  std::string norm = m.root().module;
  if (!renamed) norm = (norm.empty() ? std::string(module_of(weight.name)) : norm) + "_norm";
  std::vector<TensorId> inputs{r.insert_before(m.at, std::move(layer), y.dtype, *y.shape)};
  for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"})
    inputs.push_back(r.add_parameter(norm + part, weight.dtype, {(*y.shape)[1]}));
  Node& made = r.replace(m.at, "", "BatchNormalization", std::move(inputs));
  if (!renamed) rename_norm(made);
  return m.at;
}

constexpr Pattern kFoldedNormRows[] = {
    {.name = "batch norm folded into a layer",
     .match = "y = Conv|ConvTranspose|Gemm(x, w, b?)",
     .when = is_said,
     .build = unfold_norm,
     .example = "input x: f32[B,3,8,8]; param c.weight: f32[4,3,1,1];"
                "y = Conv(x, c.weight) module=\"c\" norm_merged",
     .after = "\"\" = Conv(x, c.weight) module=\"c\" norm_merged; y = BatchNormalization(\"\","
              " c_norm.weight, c_norm.bias, c_norm.running_mean, c_norm.running_var)"
              " module=\"c_norm\"",
     .near_miss = "y = Conv(x, c.weight) module=\"c\""},
    {.name = "batch norm folded into a layer",
     .match = "y = Conv|ConvTranspose(x, w, b)",
     .when = is_traced,
     .build = unfold_norm,
     .example =
         "input x: f32[B,3,8,8]; param onnx::Conv_1: f32[4,3,1,1]; param onnx::Conv_2: f32[4];"
         "y = Conv(x, onnx::Conv_1, onnx::Conv_2) name=\"/c/Conv\" module=\"c\"",
     .after = "/c/Conv = Conv(x, onnx::Conv_1) name=\"/c/Conv\" module=\"c\";"
              "y = BatchNormalization(/c/Conv, c_norm.weight, c_norm.bias, c_norm.running_mean,"
              " c_norm.running_var) name=\"/c.norm/Conv\" module=\"c\"",
     .near_miss = "param c.bias: f32[4]; y = Conv(x, onnx::Conv_1, c.bias) name=\"/c/Conv\""},
};

}  // namespace

std::span<const Pattern> folded_norms() { return kFoldedNormRows; }

}  // namespace plimsoll::patterns
