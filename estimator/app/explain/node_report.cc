#include "estimator/app/explain/node_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "estimator/app/explain/time_chain.h"
#include "estimator/library/kernel_time.h"
#include "estimator/time/step_conditions.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/ir/display_name.h"
#include "graph/ir/kernel_label.h"

namespace plimsoll {
namespace {

bool lies_in(std::string_view module, std::string_view name) {
  return module.size() > name.size() && module.starts_with(name) && module[name.size()] == '.';
}

// Nodes of that name, else those of the module of that name and of the modules in it.
std::vector<NodeId> find_nodes(const Graph& graph, std::string_view name) {
  std::vector<NodeId> named, inside;
  if (name.empty()) return named;  // what has no module is not meant
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.name == name) named.push_back(id);
    const bool shown = node.module.empty() && display_name(graph, id) == name;
    if (shown || node.module == name || lies_in(node.module, name)) inside.push_back(id);
  }
  return named.empty() ? inside : named;
}

tl::unexpected<Diagnostics> unknown_node(const Graph& graph, std::string_view name) {
  if (name == "(loss)") {  // as lists of layers call it
    return error("E153",
                 fmt::format("the loss is not a node of the model; it is the one that {} names",
                             setting("loss")),
                 {}, "plimsoll estimate " + setting("layers") + " has its figures");
  }
  std::vector<std::string> names;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    names.push_back(display_name(graph, id));
    if (graph.nodes[id].name != names.back()) names.push_back(graph.nodes[id].name);
  }
  const std::string near = nearest(name, names);
  return error("E153", fmt::format("the model has no node or module '{}'", shortened(name, 80)), {},
               near.empty()
                   ? fmt::format("'plimsoll estimate MODEL {}' lists them", setting("layers"))
                   : fmt::format("did you mean {}?", shortened(near)));
}

TensorReport report_tensor(const Tensor& tensor, const Binding& binding) {
  TensorReport report{.name = tensor.name, .dtype = std::string(short_name(tensor.dtype))};
  report.kind = tensor.kind == TensorKind::kInput       ? "input"
                : tensor.kind == TensorKind::kParameter ? "parameter"
                                                        : "value";
  if (!tensor.shape) return report;
  for (const Dim& d : *tensor.shape) {
    const auto value = d.evaluate(binding);
    report.shape += (report.shape.empty() ? "" : "x") + (value ? std::to_string(*value) : d.text());
  }
  if (tensor.shape->empty()) report.shape = "scalar";
  report.bytes = bytes({tensor.dtype, *tensor.shape}).evaluate(binding).value_or(0);
  return report;
}

std::vector<TensorReport> report_tensors(const Graph& graph, const std::vector<TensorId>& ids,
                                         const Binding& binding) {
  std::vector<TensorReport> reports;
  for (const TensorId id : ids) {
    if (id != kNoTensor) reports.push_back(report_tensor(graph.tensors[id], binding));
  }
  return reports;
}

// All that reports of nodes are made from.
struct Facts {
  const CompiledModel& model;
  const BoundStep& bound;
  const TimeContext& context;
  const WorkspacePlan& workspaces;
  const StepTimeInput& conditions;

  // Of a kernel in the step.
  double seconds(const KernelTime& t) const {
    return in_step(t, conditions.habits, context.rates());
  }
};

KernelReport report_kernel(const Facts& facts, KernelId id, Phase phase, int64_t launches) {
  const KernelAt& kernel = facts.bound.kernels[id];
  const KernelTime t = kernel_time(kernel, facts.context);
  const int64_t ns = to_ns(facts.seconds(t));
  const double stretched = t.seconds > 0 ? static_cast<double>(ns) / (t.seconds * 1e9) : 1;
  const DeviceRates& rates = facts.context.rates();
  const PricedAs priced = priced_as(kernel, facts.context);
  const Arithmetic arithmetic = priced.kernel_class == "rows"
                                    ? arithmetic_of(kernel.dtype, kernel.tensor_core)
                                    : priced.arithmetic;
  const double peak = rates.peak_of(arithmetic);
  KernelReport report{.kernel = kernel_label(kernel),
                      .phase = std::string(name(phase)),
                      .algorithm = std::string(t.algorithm),
                      .arithmetic = std::string(name(arithmetic)),
                      .launches = launches,
                      .flop = kernel.flop,
                      .flop_done = std::llround(t.flop),
                      .bytes = kernel.read + kernel.written,
                      .bytes_moved = std::llround(t.bytes),
                      .ns = ns,
                      .range_ns = {to_ns(t.low * stretched), to_ns(t.high * stretched)}};
  report.compute_ns = peak > 0 ? to_ns(t.flop / peak) : 0;
  report.dram_ns = rates.bandwidth > 0 ? to_ns(t.bytes / rates.bandwidth) : 0;
  report.bound_by = name(t.bound_by);
  report.fraction_of_peak = share_of_peak(t, facts.seconds(t));
  report.workspace_bytes = facts.workspaces.uses[id].bytes;
  report.workspace_basis = facts.workspaces.bases[id];
  report.time_basis = facts.context.basis(t.basis);
  report.chain = time_chain({.kernel = kernel,
                             .time = t,
                             .compute_ns = report.compute_ns,
                             .dram_ns = report.dram_ns,
                             .arithmetic = report.arithmetic,
                             .framework_factor = facts.conditions.habits.gpu_factor,
                             .seconds = facts.seconds(t)},
                            facts.context);
  for (const ConvCost& cost : conv_alternatives(kernel, facts.context)) {
    // One that takes hardly longer than the shortest runs in its place, and is priced as it.
    const bool chosen = name(cost.algorithm) == t.algorithm;
    const KernelTime by = chosen ? t : kernel_time_by(cost, kernel, facts.context);
    report.algorithms.push_back({.algorithm = std::string(name(cost.algorithm)),
                                 .ns = to_ns(facts.seconds(by)),
                                 .flop = std::llround(by.flop),
                                 .bytes_moved = std::llround(by.bytes),
                                 .workspace_bytes = std::llround(cost.workspace)});
  }
  std::ranges::stable_sort(report.algorithms, {}, &AlgorithmReport::ns);
  return report;
}

// In the order of their first launch.
std::vector<KernelReport> report_kernels(const Facts& facts, NodeId node) {
  std::vector<std::pair<KernelId, Phase>> order;
  std::map<std::pair<KernelId, Phase>, int64_t> launches;
  EventTimes times(facts.model.step);
  for (size_t i = 0; i < facts.model.step.events.size(); ++i) {
    const Event& e = facts.model.step.events[i];
    if (e.kind != Event::Kind::kLaunch || e.node != node) continue;
    const std::pair key{static_cast<KernelId>(e.id), e.phase};
    if (!launches.contains(key)) order.push_back(key);
    launches[key] += times(i);
  }
  std::vector<KernelReport> reports;
  for (const auto& key : order)
    reports.push_back(report_kernel(facts, key.first, key.second, launches[key]));
  return reports;
}

NodeReport report_node(const Facts& facts, const Estimate& estimate, NodeId id) {
  const Graph& graph = facts.model.graph;
  const Node& node = graph.nodes[id];
  NodeReport report;
  report.node = describe(graph, id);
  const auto row = std::find_if(estimate.layers.begin(), estimate.layers.end(),
                                [&](const LayerEstimate& l) { return l.id == id; });
  if (row != estimate.layers.end()) {
    report.layer = *row;
  } else {  // it neither works nor holds anything
    report.layer.node = display_name(graph, id);
    report.layer.op = node.op;
    report.layer.module = node.module;
  }
  report.inputs = report_tensors(graph, node.inputs, estimate.input.symbols);
  report.outputs = report_tensors(graph, node.outputs, estimate.input.symbols);
  report.shared = weight_sharing(facts.model, id);
  for (const KeptTensor& k : estimate.kept) {
    if (k.keeper == id) report.keeps.push_back(k);
    if (k.maker == id && k.keeper != id) report.made.push_back(k);
  }
  report.kernels = report_kernels(facts, id);
  return report;
}

}  // namespace

Result<Explained> explain_node(const Evaluator& evaluator, const CompiledModel& model,
                               const Binding& binding, std::string_view name) {
  const std::vector<NodeId> nodes = find_nodes(model.graph, name);
  if (nodes.empty()) return unknown_node(model.graph, name);
  const auto estimate = TRY(evaluator.estimate(model, binding));
  const auto bound = TRY(bind_step(model.step, binding));
  const auto point = TRY(evaluator.operating_point(model, bound, binding));
  const TimeContext context = evaluator.context(point);
  Explained explained{.what = std::string(name),
                      .input = estimate.input,
                      .device_id = estimate.device_id,
                      .bandwidth = evaluator.context().rates().bandwidth,
                      .notes = estimate};
  const StepTimeInput conditions = step_conditions(
      model, evaluator.platform(), evaluator.behaviour().dispatch, evaluator.request());
  const Facts facts{model, bound, context, point.workspaces, conditions};
  for (const NodeId id : nodes) explained.nodes.push_back(report_node(facts, estimate, id));
  return explained;
}

}  // namespace plimsoll
