#include "graph/onnx/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>

#include "graph/base/among.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/exporter/origin.h"
#include "graph/onnx/decode.h"
#include "graph/onnx/file_type.h"
#include "graph/onnx/inline.h"
#include "graph/onnx/inputs.h"
#include "graph/ops/routing.h"

namespace plimsoll {
namespace onnx {
namespace {

// The operator sets whose meaning the rules of graph/ops know (ONNX 1.17 has 22, 1.18 has 23), and
// the newest file format (onnx.proto, Version).
constexpr int64_t kOldestOpset = 7;
constexpr int64_t kNewestOpset = 23;
constexpr int64_t kNewestIr = 11;

bool uses_onnx_domain(const GraphSpec& graph) {
  return std::ranges::any_of(graph.nodes, [](const NodeSpec& node) { return node.domain.empty(); });
}

Result<void> check_header(const ModelSpec& model, Graph& graph, Diagnostics& warnings) {
  if (!model.has_graph) return error("E211", "has no graph", {}, "is this an ONNX model?");
  if (model.graphs[0].outputs.empty()) return error("E212", "graph has no outputs");
  const auto opset = std::find_if(model.opsets.begin(), model.opsets.end(),
                                  [](const auto& entry) { return entry.first.empty(); });
  // A graph of other domains' operators alone needs none of ONNX's own.
  const bool is_needed =
      model.opsets.empty() || std::ranges::any_of(model.graphs, uses_onnx_domain);
  if (opset == model.opsets.end() ? is_needed : opset->second < 1) {
    return error("E213", "does not name its operator set (opset_import)");
  }
  graph.opset = opset == model.opsets.end() ? kNewestOpset : opset->second;
  if (graph.opset > kNewestOpset || graph.opset < kOldestOpset) {
    warnings.push_back(warning(
        "W201",
        fmt::format("operator set {} is {} than the {} to {} known here", graph.opset,
                    graph.opset > kNewestOpset ? "newer" : "older", kOldestOpset, kNewestOpset)));
  }
  if (model.ir_version > kNewestIr || model.ir_version < 1) {
    warnings.push_back(warning("W201", fmt::format("file format {} is not one of the 1 to {} "
                                                   "known here",
                                                   model.ir_version, kNewestIr)));
  }
  if (model.graphs[0].nodes.empty()) {
    warnings.push_back(note("W211", "the graph has no nodes"));
  }
  return {};
}

// Operators that only a graph with its backward pass in it has.
bool is_training_node(const NodeSpec& node) {
  const std::string_view op = node.op;
  return node.domain == "ai.onnx.preview.training" ||
         (op.size() > 4 && op.substr(op.size() - 4) == "Grad");
}

void warn_of_training(const ModelSpec& model, Diagnostics& warnings) {
  const auto& nodes = model.graphs[0].nodes;
  const bool backward = std::any_of(nodes.begin(), nodes.end(), is_training_node);
  if (!backward && !model.has_training_info) return;
  warnings.push_back(warning("W213", "the graph already has gradient nodes", {},
                             fmt::format("use {}", setting("mode", "inference"))));
}

// Models that no step of gradients trains: trees, and what is fitted in closed form or by its own
// solver (onnx/docs/Operators-ml.md). The domain's other operators prepare features, which a
// network may have, too.
bool is_classical_node(const NodeSpec& node) {
  constexpr std::array<std::string_view, 8> kOps = {
      "LinearClassifier",       "LinearRegressor",       "SVMClassifier", "SVMRegressor",
      "TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble",  "DictVectorizer"};
  return node.domain == "ai.onnx.ml" && among(node.op, kOps);
}

Result<void> refuse_classical(const ModelSpec& model) {
  const auto& nodes = model.graphs[0].nodes;
  const auto found = std::ranges::find_if(nodes, is_classical_node);
  if (found == nodes.end()) return {};
  return error("E256",
               fmt::format("is a classical model ({}), which is not trained in steps on a GPU",
                           shortened(found->op)),
               {}, "Plimsoll answers for neural networks");
}

// The region of torch.no_grad() or of autocast that a tracer took a node out of the model's code
// with: "<eval_with_key>.7"; empty where it took none.
std::string_view region_of(const Node& node) {
  const std::string_view statements = node.notes.statements;
  return statements.starts_with("<eval_with_key>") ? statements.substr(0, statements.find(':'))
                                                   : std::string_view();
}

// A region of autocast has casts in it. What from_torch() exports says itself which is which.
void mark_without_grad(Graph& graph) {
  std::set<std::string, std::less<>> casting;
  for (const Node& node : graph.nodes) {
    if (const auto region = region_of(node); !region.empty() && !node.notes.casts.empty())
      casting.emplace(region);
  }
  for (Node& node : graph.nodes) {
    const std::string_view region = region_of(node);
    if (!region.empty() && !casting.contains(region)) node.notes.no_grad = true;
  }
}

// What a module that tells all holds beyond what its forward pass reads.
void mark_spare(Graph& graph) {
  const std::vector<char> read = read_by_nodes(graph);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    Tensor& t = graph.tensors[id];
    t.spare = (t.weight || t.buffer) && !read[id];
  }
}

// What the module is said to hold and the file writes under no name of its own.
void list_unwritten(const ModuleSignature& module, Graph& graph) {
  if (graph.told) return;
  graph.unwritten = module.parameters;
  for (const Tensor& t : graph.tensors) {
    if (t.kind == TensorKind::kParameter) graph.unwritten.erase(t.name);
  }
}

Result<Graph> import(const ByteSource& source, const ImportOptions& options,
                     Diagnostics& warnings) {
  TRY(refuse_other_formats(source));
  Wire wire(source, options.limits);
  auto model = TRY(decode_model(wire));
  Graph graph;
  if (auto sound = check_header(model, graph, warnings); !sound) {
    return tl::make_unexpected(sound.error());
  }
  TRY(refuse_classical(model));
  warn_of_training(model, warnings);
  graph.name = model.graphs[0].name;
  graph.producer = model.producer_name;
  if (!model.producer_version.empty()) graph.producer += " " + model.producer_version;
  graph.exporter = exporter_of(graph.producer);
  graph.told = model.graphs[0].signature.complete;
  if (auto added = add_inputs(model.graphs[0], options, graph, warnings); !added) {
    return tl::make_unexpected(added.error());
  }
  if (options.inputs_only) return graph;
  if (auto done = Inliner(model, options, graph, warnings).run(); !done) {
    return tl::make_unexpected(done.error());
  }
  graph.told ? mark_spare(graph) : mark_without_grad(graph);
  list_unwritten(model.graphs[0].signature, graph);
  set_origins(graph);
  if (auto verified = verify(graph, warnings); !verified) {
    return tl::make_unexpected(verified.error());
  }
  if (ops::may_route_tokens(graph)) graph.defaults.try_emplace(ops::kBusiestExpert, 1);
  TRY(source.check_unchanged());
  return graph;
}

void name_file(Diagnostics& diagnostics, size_t first, const std::string& file) {
  for (size_t i = first; i < diagnostics.size(); ++i) {
    if (diagnostics[i].place.file.empty()) diagnostics[i].place.file = file;
  }
}

}  // namespace
}  // namespace onnx

Result<Graph> import_onnx(const ByteSource& source, const ImportOptions& options,
                          Diagnostics& warnings) {
  const size_t first = warnings.size();
  auto graph = onnx::import(source, options, warnings);
  onnx::name_file(warnings, first, source.name());
  if (!graph) onnx::name_file(graph.error(), 0, source.name());
  return graph;
}

}  // namespace plimsoll
