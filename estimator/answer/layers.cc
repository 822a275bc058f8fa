#include "estimator/answer/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/base/checked.h"
#include "graph/eager/update.h"
#include "graph/ir/display_name.h"
#include "graph/parallel/kept_parts.h"

namespace plimsoll {

namespace {

int64_t rounded(int64_t bytes, int64_t granule) { return ceil_divide(bytes, granule) * granule; }

// The shape at the point, "32x64x112x112".
std::string shape_at(const Graph& graph, const Node& node, const Binding& binding) {
  if (node.outputs.empty() || node.outputs[0] == kNoTensor || !graph.tensors[node.outputs[0]].shape)
    return "";
  std::string text;
  for (const Dim& d : *graph.tensors[node.outputs[0]].shape) {
    const auto value = d.evaluate(binding);
    text += (text.empty() ? "" : "x") + (value ? fmt::format("{}", *value) : d.text());
  }
  return text;
}

// What the optimizer keeps of a parameter by itself.
int64_t state_bytes(const CompiledModel& model, const TensorType& parameter) {
  Decider decider(model.binding);
  int64_t sum = 0;
  for (const TensorType& kept : eager::kept_of(model.recipe, parameter, decider))
    sum += bytes(kept).evaluate(model.binding).value_or(0);
  return sum;
}

// What this rank keeps of a weight, and of its gradient and states.
struct Parts {
  Shape weight, gradient, updated;
};

Parts parts_of(const CompiledModel& model, TensorId id) {
  const ParallelPlan& plan = model.recipe.parallel;
  const parallel::Placements& placed = model.placements;
  const Shape& whole = *model.graph.tensors[id].shape;
  Shape computed = whole;
  if (const auto at = placed.computed.find(id); at != placed.computed.end())
    computed = part_of(whole, at->second, plan.mesh);
  const auto kept = placed.kept.find(id);
  if (kept == placed.kept.end()) return {computed, computed, computed};
  const Shape& part = kept->second;
  return {parallel::is_gathered(model.graph.tensors[id], plan) ? part : computed,
          plan.sharded >= Sharded::kGradients ? part : computed, part};
}

void add_parameters(const CompiledModel& model, const Node& node, std::vector<char>& seen,
                    LayerEstimate& layer) {
  const bool trained = model.recipe.mode != Mode::kInference;
  for (const TensorId in : node.inputs) {
    if (in == kNoTensor || seen[in]) continue;
    const Tensor& t = model.graph.tensors[in];
    if (t.kind != TensorKind::kParameter || !is_weight(model.weight_roles[in]) || !t.shape)
      continue;
    seen[in] = 1;
    const Parts parts = parts_of(model, in);
    const DType kept = eager::kept_type(model.recipe, t.dtype, !t.frozen);
    const auto size = [&](const Shape& part) {
      return bytes(kept, elements(part)).evaluate(model.binding).value_or(0);
    };
    layer.parameters += elements(*t.shape).evaluate(model.binding).value_or(0);
    layer.weight_bytes += size(parts.weight);
    if (!trained || model.weight_roles[in] != WeightRole::kTrained) continue;
    layer.gradient_bytes += size(parts.gradient);
    if (model.recipe.mode == Mode::kTrain)
      layer.optimizer_state_bytes += state_bytes(model, {t.dtype, parts.updated});
  }
}

void add_launches(const KernelAt& kernel, const KernelPrice& price, Phase phase, int64_t times,
                  LayerEstimate& layer) {
  const bool forward = phase == Phase::kForward || phase == Phase::kLoss;
  (forward ? layer.flop_forward : layer.flop_backward) += times * kernel.flop;
  (forward ? layer.bytes_forward : layer.bytes_backward) += times * (kernel.read + kernel.written);
  (forward ? layer.forward_ns : layer.backward_ns) += times * price.ns;
  layer.workspace_bytes = std::max(layer.workspace_bytes, price.workspace_bytes);
  const bool weights = kernel.pass == Pass::kBackwardWeights || kernel.op == "bias_gradient";
  LayerPass& pass = forward   ? layer.forward
                    : weights ? layer.backward_weights
                              : layer.backward_data;
  const auto rank = [](const auto& p) { return std::pair(!p.algorithm.empty(), p.ns); };
  if (rank(price) > rank(pass)) {
    pass = {price.ns, price.algorithm, price.bound_by, price.fraction_of_peak};
  }
}

constexpr std::string_view kLossRow = "(loss)";

}  // namespace

std::vector<LayerEstimate> layers_of(const CompiledModel& model, const BoundStep& bound,
                                     const Binding& binding, int64_t granule,
                                     const std::vector<KernelPrice>& prices) {
  const Graph& graph = model.graph;
  const size_t loss = graph.nodes.size();
  std::vector<LayerEstimate> rows(loss + 1);
  std::vector<char> seen(graph.tensors.size(), 0);
  for (NodeId id = 0; id < loss; ++id) {
    rows[id].id = id;
    add_parameters(model, graph.nodes[id], seen, rows[id]);
  }
  rows[loss].node = kLossRow;
  const auto row_of = [&](NodeId node) -> LayerEstimate& {
    return rows[node == kNoNode ? loss : node];
  };
  for (const Saved& s : model.step.saved) {
    row_of(s.node).feature_map_bytes += rounded(bound.buffer_bytes[s.buffer], granule);
  }
  EventTimes times(model.step);
  for (size_t i = 0; i < model.step.events.size(); ++i) {
    const Event& e = model.step.events[i];
    if (e.kind != Event::Kind::kLaunch || e.phase == Phase::kUpdate) continue;
    add_launches(bound.kernels[e.id], prices[e.id], e.phase, times(i), row_of(e.node));
  }
  std::erase_if(rows, [](const LayerEstimate& l) {
    return l.parameters == 0 && l.feature_map_bytes == 0 && l.bytes_forward == 0 &&
           l.bytes_backward == 0;
  });
  for (LayerEstimate& row : rows) {
    if (row.node == kLossRow) continue;
    row.node = display_name(graph, row.id);
    row.op = graph.nodes[row.id].op;
    row.module = graph.nodes[row.id].module;
    row.output_shape = shape_at(graph, graph.nodes[row.id], binding);
  }
  return rows;
}

std::vector<KeptTensor> kept_of(const CompiledModel& model, const BoundStep& bound,
                                int64_t granule) {
  std::vector<KeptTensor> kept;
  kept.reserve(model.step.saved.size());
  for (const Saved& s : model.step.saved) {
    const NodeId maker = model.step.buffers[s.buffer].node;
    kept.push_back({.keeper = s.node,
                    .maker = maker,
                    .node = display_name(model.graph, s.node),
                    .rule = std::string(s.rule),
                    .made_by = display_name(model.graph, maker),
                    .bytes = rounded(bound.buffer_bytes[s.buffer], granule)});
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return kept;
}

}  // namespace plimsoll
