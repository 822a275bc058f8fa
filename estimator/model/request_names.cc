#include "estimator/model/request_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "graph/base/escape.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

std::string remedy(const ModelNames& names, const std::string& name) {
  if (names.fixed.contains(name))
    return "it is a parameter that shapes the model: " + setting_entry("set", name, "N");
  const std::vector<std::string> known(names.dims.begin(), names.dims.end());
  if (known.empty()) return "it has none";
  const std::string near = nearest(name, known);
  return near.empty()
             ? fmt::format("it has {}", shortened(fmt::format("{}", fmt::join(known, ", "))))
             : fmt::format("did you mean {}?", shortened(near));
}

tl::unexpected<Diagnostics> no_dimension(const ModelNames& names, const std::string& name,
                                         std::string_view asked_by) {
  return error(
      "E113",
      fmt::format("{}: the model has no dimension '{}'", setting(asked_by), shortened(name, 60)),
      {}, remedy(names, name));
}

void add_names(const Graph& graph, bool from_onnx, ModelNames& names) {
  names.dims.merge(free_symbols(graph));
  for (const auto& [name, value] : graph.defaults) names.dims.insert(name);
  names.batch = names.batch || names.dims.contains(graph.batch_symbol);
  for (const TensorId id : graph.inputs) {
    const auto& shape = graph.tensors[id].shape;
    names.images = names.images || (from_onnx && shape && shape->size() == 4);
  }
}

}  // namespace

ModelNames names_of(const LoadedModel& model) {
  ModelNames names;
  for (const NamedGraph& network : model.config.networks)
    add_names(network.graph, model.from_onnx, names);
  names.images = names.images || names.dims.contains("image");
  for (const ConfigParameter& p : model.config.parameters) {
    (p.symbolic ? names.dims : names.fixed).insert(p.name);
  }
  return names;
}

ModelNames names_of_onnx(const Graph& graph) {
  ModelNames names;
  add_names(graph, true, names);
  return names;
}

Result<void> check_sizes(const ModelNames& names, const ModelRequest& request) {
  for (const LengthBucket& bucket : request.lengths) {
    for (const auto& [name, value] : bucket.sizes) {
      if (!names.dims.contains(name)) return no_dimension(names, name, "lengths");
    }
  }
  for (const auto& [name, value] : request.dims) {
    if (!names.dims.contains(name)) return no_dimension(names, name, "dim");
  }
  for (const auto& [name, value] : request.longest) {
    if (!names.dims.contains(name)) return no_dimension(names, name, "longest");
  }
  if (request.batch && !names.batch) return no_dimension(names, "batch", "batch");
  if (request.image && !names.images) return no_dimension(names, "image", "image");
  return {};
}

Result<void> check_dimension(const LoadedModel& model, const std::string& name,
                             std::string_view asked_by) {
  const ModelNames names = names_of(model);
  return names.dims.contains(name) ? Result<void>() : no_dimension(names, name, asked_by);
}

Result<void> check_names(const LoadedModel& model, const ModelRequest& request) {
  if (auto sizes = check_sizes(names_of(model), request); !sizes) return sizes;
  if (!model.from_onnx) {
    if (!request.shapes.empty())
      return error("E112", setting("shape") + " is for ONNX graphs; a config defines its shapes");
    if (!request.trips.empty())
      return error("E112",
                   setting("trip") + " is for ONNX graphs; a config repeats layers by itself");
    if (!request.branches.empty())
      return error("E112", setting("branch") + " is for ONNX graphs; a config has no branches");
  } else if (!request.settings.empty()) {
    return error("E134",
                 fmt::format("{}: an ONNX graph has no parameters",
                             setting_entry("set", shortened(request.settings.begin()->first, 60))),
                 {}, "its symbolic dimensions are bound with " + setting_entry("dim", "NAME", "N"));
  }
  return {};
}

Result<void> check_assumed(const LoadedModel& model, const ModelRequest& request) {
  std::vector<std::string> ops;
  for (const NamedGraph& network : model.config.networks) {
    for (const Node& node : network.graph.nodes) ops.push_back(node.op);
  }
  for (const auto& [name, price] : request.assume) {
    if (std::ranges::find(ops, name) != ops.end()) continue;
    const std::string near = nearest(name, ops);
    return error("E118",
                 setting_entry("assume", shortened(name, 60)) + ": the model has no such operator",
                 {}, near.empty() ? "" : fmt::format("did you mean {}?", shortened(near)));
  }
  return {};
}

}  // namespace plimsoll
