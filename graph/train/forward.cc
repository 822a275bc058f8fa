#include "graph/train/forward.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/base/cancel.h"
#include "graph/base/try.h"
#include "graph/eager/autocast.h"
#include "graph/eager/ops.h"
#include "graph/eager/update.h"
#include "graph/exporter/missing_buffers.h"
#include "graph/ir/finetune.h"
#include "graph/ops/input_independent.h"
#include "graph/ops/lower.h"
#include "graph/ops/op_row.h"
#include "graph/ops/zeros.h"
#include "graph/parallel/kept_parts.h"
#include "graph/train/folded_targets.h"
#include "graph/train/last_use.h"

namespace plimsoll {

using eager::Machine;
using eager::Value;

namespace {

size_t host_from(const Node& node) {
  const OpRow* row = find_op(node.domain, node.op);
  return row ? row->host_from : node.inputs.size();
}

// An operator without a lowering that the user chose to assume: element-wise, keeping its input; or
// free, its input seen once more.
std::vector<Value> assumed(eager::Lowering& l) {
  if (l.node().notes.free) return std::vector<Value>(l.node().outputs.size(), l.in(0));
  std::vector<Value> outputs;
  for (size_t i = 0; i < l.node().outputs.size(); ++i) {
    Value y = l.m.allocate(l.out_dtype(i), l.out_shape(i));
    l.m.launch_over(KernelClass::kPointwise, "assumed", y.count(), l.inputs(), y);
    if (i == 0 && l.has(0)) {
      const Value inputs[] = {l.in(0)};
      l.m.record(y, inputs, {{l.in(0), "an assumed operator keeps its input"}},
                 [](Machine& m, const eager::Gradients& g, const eager::GradNode& n) {
                   const eager::Layout& before = *n.edges[0].input;
                   Value dx = m.allocate(before.dtype, before.sizes);
                   m.launch_rows(KernelClass::kPointwise, "assumed", dx.count(), {&g[0]}, {&dx});
                   return eager::Gradients{dx};
                 });
    }
    outputs.push_back(std::move(y));
  }
  return outputs;
}

}  // namespace

Forward::Forward(const Graph& graph, const std::vector<WeightRole>& kinds,
                 const std::vector<TensorId>& returned, const parallel::Placements& placements,
                 Machine& machine)
    : graph_(graph), machine_(machine), values_(graph.tensors.size()) {
  find_data(returned);
  head_ = head_of_loss(machine.recipe(), graph, returned);
  const auto make = [&](WeightRole kind, auto&& creator) {
    for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
      const Tensor& t = graph_.tensors[id];
      if (t.kind != TensorKind::kParameter || kinds[id] != kind || !t.shape) continue;
      values_[id] = creator(id, t);
    }
  };
  make(WeightRole::kTrained, [&](TensorId id, const Tensor&) {
    Value trained = machine_.train(weight(id, placements));
    if (!trained.requires_grad()) return trained;
    const auto in = [id](const auto& placed) {
      const auto at = placed.find(id);
      return at == placed.end() ? std::nullopt : std::optional(at->second);
    };
    trained.grad()->split = in(placements.computed);
    trained.grad()->updated = in(placements.kept);
    return trained;
  });
  make(WeightRole::kFrozen, [&](TensorId id, const Tensor&) { return weight(id, placements); });
  make(WeightRole::kBuffer, [&](TensorId, const Tensor& t) {
    return machine_.resident(t.dtype, *t.shape, Role::kBuffer);
  });
  make(WeightRole::kConstant, [&](TensorId id, const Tensor&) { return constant(id); });
  make(WeightRole::kComputed,
       [&](TensorId, const Tensor& t) { return machine_.host(t.dtype, *t.shape); });
  release_after_last_use(kinds, WeightRole::kComputed);
  if (machine_.policy().names_hold_values) targets_ = folded_targets(graph_, kinds);
  for (const TensorType& buffer : missing_buffers(graph_, kinds))
    machine_.resident(buffer.dtype, buffer.shape, Role::kBuffer);
  for (const TensorId id : graph_.inputs) {
    const Tensor& t = graph_.tensors[id];
    if (t.shape) values_[id] = machine_.resident(t.dtype, *t.shape, Role::kInput);
  }
}

// As operators use it.
Value Forward::weight(TensorId id, const parallel::Placements& placements) {
  const Tensor& t = graph_.tensors[id];
  const ParallelPlan& plan = machine_.recipe().parallel;
  const auto computed = placements.computed.find(id);
  const bool whole = computed == placements.computed.end();
  const Shape shape = whole ? *t.shape : part_of(*t.shape, computed->second, plan.mesh);
  const auto kept = placements.kept.find(id);
  if (kept != placements.kept.end() && parallel::is_gathered(t, plan))
    return gathered_weight(id, shape, kept->second);
  if (t.quantized) {
    const Dim packed = ceil_div(elements(shape) * Dim(t.quantized->bits), Dim(8));
    const Dim all = packed + parallel::scale_bytes(*t.quantized, shape);
    return machine_.packed(t.dtype, shape, Role::kParameter, all);
  }
  return machine_.resident(t.dtype, shape, Role::kParameter);
}

// What is gathered of a quantized one is the parameter that it is packed in: operators see the
// matrix in its place.
Value Forward::gathered_weight(TensorId id, const Shape& shape, const Shape& part) {
  const Tensor& t = graph_.tensors[id];
  const ParallelPlan& plan = machine_.recipe().parallel;
  // Parts of one array are its strategy's.
  if (plan.sharded_by != ShardedBy::kFsdp1) {
    const DType dtype = eager::kept_type(machine_.recipe(), t.dtype, !t.frozen);
    plan.offload.parameters ? machine_.keep_on_host(dtype, part, Role::kParameter)
                            : machine_.resident(dtype, part, Role::kParameter);
  }
  const auto packed = parallel::packed_shape(t, shape);
  if (!packed) return machine_.unbound(t.dtype, shape);
  machine_.reside({DType::kInt8, {parallel::scale_bytes(*t.quantized, shape)}}, Role::kParameter);
  const Value& whole = packed_[id] = machine_.unbound(t.dtype, *packed);
  return {eager::contiguous_layout(t.dtype, shape), whole.storage()};
}

std::vector<Value> Forward::stored() const {
  std::vector<Value> all = values_;
  for (const auto& [id, value] : packed_) all[id] = value;
  return all;
}

// Parameters of this kind go after their last reader, as values do.
void Forward::release_after_last_use(const std::vector<WeightRole>& kinds, WeightRole kind) {
  std::vector<NodeId> last(graph_.tensors.size(), kNoNode);
  for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
    for (const TensorId in : graph_.nodes[id].inputs) {
      if (in != kNoTensor) last[in] = id;
    }
  }
  for (TensorId id = 0; id < last.size(); ++id) {
    const bool parameter = graph_.tensors[id].kind == TensorKind::kParameter;
    if (parameter && kinds[id] == kind && last[id] != kNoNode) last_uses_[last[id]].push_back(id);
  }
}

// A single number is the host's; so are empty arrays, and arrays that only say shapes and axes.
Value Forward::constant(TensorId id) {
  const Tensor& t = graph_.tensors[id];
  const Dim count = elements(*t.shape);
  if (count == Dim(1) || count == Dim(0) || !read_as_data_[id])
    return machine_.host(t.dtype, *t.shape);
  return machine_.resident(t.dtype, *t.shape, Role::kBuffer);
}

// transformers' models take the loss of labels themselves: what their last layer read still has a
// name there. Where they are trained, the gradient of that layer keeps it.
std::optional<LanguageHead> Forward::loss_within_model() const {
  const Recipe& recipe = machine_.recipe();
  const bool within = recipe.evaluates && recipe.loss == Loss::kCausalLm && !loss_runs_head(recipe);
  return within ? find_language_head(graph_, graph_.outputs) : std::nullopt;
}

void Forward::find_data(const std::vector<TensorId>& returned) {
  const std::vector<char> read = read_by_nodes(graph_);
  is_read_.assign(read.begin(), read.end());
  for (const TensorId out : returned) is_read_[out] = true;
  std::vector<TensorId> kept = returned;
  if (const auto head = loss_within_model()) kept.push_back(head->hidden);
  last_uses_ = last_uses(graph_, kept, machine_.policy().names_hold_values);
  for (const std::vector<TensorId>& last : last_uses_)
    for (const TensorId id : last) is_read_[id] = true;
  read_as_data_.assign(graph_.tensors.size(), false);
  meets_data_.assign(graph_.tensors.size(), false);
  const std::vector<char> independent = input_independent(graph_);
  const auto is_data = [&](TensorId in) { return in != kNoTensor && !independent[in]; };
  const auto is_met = [&](TensorId out) { return out != kNoTensor && meets_data_[out]; };
  for (auto id = static_cast<NodeId>(graph_.nodes.size());
       id-- > 0;) {  // what is seen in another shape meets as well
    const Node& node = graph_.nodes[id];
    const size_t last = std::min(node.inputs.size(), host_from(node));
    const bool meets =
        std::any_of(node.inputs.begin(), node.inputs.end(), is_data) ||
        (has(node, OpRow::kView) && std::any_of(node.outputs.begin(), node.outputs.end(), is_met));
    for (size_t i = 0; i < last; ++i) {
      if (node.inputs[i] == kNoTensor) continue;
      read_as_data_[node.inputs[i]] = true;
      if (meets) meets_data_[node.inputs[i]] = true;
    }
  }
}

void Forward::release() {
  for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
    if (graph_.tensors[id].kind == TensorKind::kValue) values_[id] = {};
  }
}

std::vector<Value> Forward::take() {
  std::vector<Value> made;
  for (TensorId id = 0; id < graph_.tensors.size(); ++id) {
    if (graph_.tensors[id].kind == TensorKind::kValue)
      made.push_back(std::exchange(values_[id], {}));
  }
  return made;
}

// An array of the host, made on the device. One that is expanded there, and cast at most to the
// type that it has, takes no more than before.
Value Forward::filled(TensorId id) {
  const Tensor& t = graph_.tensors[id];
  const auto maker = [&](TensorId made) {
    const NodeId by = graph_.tensors[made].producer;
    return by == kNoNode ? nullptr : &graph_.nodes[by];
  };
  const Node* by = maker(id);
  while (by && has(*by, OpRow::kConversion) && graph_.tensors[by->inputs[0]].dtype == t.dtype)
    by = maker(by->inputs[0]);
  const bool expanded = by && has(*by, OpRow::kRepeats | OpRow::kSharesStorage);
  const auto& small = expanded ? graph_.tensors[by->inputs[0]].shape : t.shape;
  if (!expanded || !small || small->empty()) return eager::fill(machine_, t.dtype, *t.shape);
  return eager::expand(machine_, eager::fill(machine_, t.dtype, *small), *t.shape);
}

void Forward::fill_targets(NodeId id) {
  const auto at = targets_.find(id);
  if (at == targets_.end()) return;
  for (const TensorId target : at->second) {
    if (!values_[target].on_device()) values_[target] = filled(target);
  }
}

// What a node reads. Arrays of the host go to the device the first time that data there meets
// them, and stay as long as they are read.
std::vector<Value> Forward::read_inputs(const Node& node, size_t host_from, bool& on_device) {
  const size_t data = std::min(node.inputs.size(), host_from);
  // Chance strikes tensors: what is dropped out, positions too, is on the device.
  on_device = host_from == 0 || (has(node, OpRow::kRandom) && machine_.grad_enabled());
  for (size_t i = 0; i < data; ++i) {
    const TensorId in = node.inputs[i];
    on_device = on_device || (in != kNoTensor && values_[in].on_device());
  }
  std::vector<Value> inputs;
  inputs.reserve(node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorId in = node.inputs[i];
    if (in == kNoTensor) {
      inputs.emplace_back();
      continue;
    }
    const Tensor& t = graph_.tensors[in];
    Value& value = values_[in];
    if (!value.defined() && t.shape) value = machine_.host(t.dtype, *t.shape);
    const bool array = value.defined() && !value.on_device() && value.count() != Dim(1);
    if (on_device && i < data && array) value = filled(in);
    inputs.push_back(value);
  }
  return inputs;
}

void Forward::execute(NodeId id) {
  check_cancelled();
  machine_.enter(machine_.phase() == Phase::kBackward ? Phase::kBackward : Phase::kForward, id);
  fill_targets(id);
  const Node& node = graph_.nodes[id];
  if (!node.notes.turns.empty()) machine_.run_in_loop(id, node.notes.turns);
  const OpRow* row = find_op(node.domain, node.op);
  bool on_device = false;
  std::vector<Value> inputs =
      read_inputs(node, row ? row->host_from : node.inputs.size(), on_device);
  std::vector<Value> outputs;
  if (on_device && (node.notes.on_device || !is_host_arithmetic(node))) {
    std::optional<eager::AutocastPause> off;
    if (node.notes.no_autocast) off.emplace(machine_);
    const bool with_grad = machine_.grad_enabled();
    if (node.notes.no_grad) machine_.set_grad_enabled(false);
    machine_.tell(&eager::Observer::before_node, id, inputs);
    eager::Lowering lowering(machine_, graph_, id, std::move(inputs));
    outputs = row && row->lower ? row->lower(lowering) : assumed(lowering);
    for (Value& out : outputs) {
      if (node.notes.no_grad && out.requires_grad()) out = out.detached();
    }
    machine_.tell(&eager::Observer::after_node, id, outputs);
    machine_.set_grad_enabled(with_grad);
  }
  inputs.clear();
  outputs.resize(node.outputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorId out = node.outputs[i];
    if (out == kNoTensor) continue;
    const Tensor& t = graph_.tensors[out];
    if (!outputs[i].defined() && t.shape) outputs[i] = machine_.host(t.dtype, *t.shape);
    if (node.notes.on_device && outputs[i].defined()) {
      // One kernel writes what is made of the host's numbers alone.
      if (!outputs[i].on_device()) outputs[i] = eager::fill(machine_, t.dtype, *t.shape);
    } else if (is_filled_here(node, out)) {
      outputs[i] = filled(out);
    }
    if (is_read_[out]) values_[out] = std::move(outputs[i]);
  }
  outputs.clear();
  for (const TensorId done : last_uses_[id]) values_[done] = {};
}

// Integers that shapes are made of are computed by the host.
bool Forward::is_host_arithmetic(const Node& node) const {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId out) {
    return out == kNoTensor ||
           (graph_.tensors[out].has_dims && !is_float(graph_.tensors[out].dtype));
  });
}

// One number, repeated, that data meets as it is (zeros_like(x), which messages are then added to):
// it is there from its own line on. What is computed of such before it meets data stays the host's.
bool Forward::is_filled_here(const Node& node, TensorId out) const {
  const Tensor& t = graph_.tensors[out];
  if (!meets_data_[out] || !is_float(t.dtype) || t.has_dims || !t.shape || t.shape->empty())
    return false;
  if (!has(node, OpRow::kRepeats)) return host_from(node) == 0 && !has(node, OpRow::kRandom);
  return !values_[node.inputs[0]].on_device() && is_zeros(graph_, node.inputs[0]);
}

Result<void> Forward::checkpoint(const std::string& which) {
  blocks_ = TRY(checkpointed_blocks(graph_, which));
  return {};
}

void Forward::run(NodeId first, NodeId last) {
  const bool loss_follows = machine_.grad_enabled() || machine_.recipe().evaluates;
  if (head_ && loss_follows) last = std::min(last, head_->first);
  for (NodeId id = first; id < last;) {
    const parallel::Unit* block =
        machine_.grad_enabled() ? parallel::unit_from(blocks_.units, id) : nullptr;
    if (block) run_block(*block);
    if (!block) execute(id);
    id = block ? block->last : id + 1;
  }
}

Value Forward::scores_of(const Value& hidden) {
  const Phase phase = machine_.phase();
  values_[head_->hidden] = hidden;
  for (NodeId id = head_->first; id < graph_.nodes.size(); ++id) execute(id);
  machine_.enter(phase, kNoNode);
  return std::exchange(values_[head_->scores], {});
}

// What a block reads that others made, once each.
Forward::Inputs Forward::inputs_of(const parallel::Unit& block) const {
  Inputs inputs;
  for (NodeId id = block.first; id < block.last; ++id) {
    for (const TensorId in : graph_.nodes[id].inputs) {
      if (in == kNoTensor || graph_.tensors[in].kind == TensorKind::kParameter) continue;
      const NodeId maker = graph_.tensors[in].producer;
      const bool inside = maker != kNoNode && maker >= block.first && maker < block.last;
      const bool known = std::any_of(inputs.begin(), inputs.end(),
                                     [&](const auto& input) { return input.first == in; });
      if (!inside && !known && values_[in].defined()) inputs.emplace_back(in, values_[in]);
    }
  }
  return inputs;
}

// A checkpointed block keeps what it reads, and runs again from there.
void Forward::run_block(const parallel::Unit& block) {
  Inputs inputs = inputs_of(block);
  // What is on the device comes first, and is where the region has it when the block runs again.
  std::stable_partition(inputs.begin(), inputs.end(),
                        [](const auto& input) { return input.second.on_device(); });
  std::vector<Value> kept;
  for (auto& [in, value] : inputs) {
    if (!value.on_device()) break;
    kept.push_back(value);
    value = value.with_storage(nullptr);
  }
  machine_.enter(Phase::kForward, block.first);
  machine_.begin_region(
      kept,
      [this, &block, inputs = std::move(inputs)](const eager::Region& region) {
        recompute(block, inputs, region);
      },
      blocks_.by_operator);
  for (NodeId id = block.first; id < block.last; ++id) execute(id);
  machine_.end_region();
}

// Up to the last tensor that the block keeps; the rest of the step's values stay as they are.
void Forward::recompute(const parallel::Unit& block, const Inputs& inputs,
                        const eager::Region& region) {
  Inputs before;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& [in, value] = inputs[i];
    before.emplace_back(in, std::move(values_[in]));
    const bool on_device = i < region.on_device;
    values_[in] = on_device ? value.with_storage(region.inputs->saved(i).storage()) : value;
  }
  for (NodeId id = block.first; id < block.last; ++id) {
    for (const TensorId out : graph_.nodes[id].outputs) {
      if (out != kNoTensor) before.emplace_back(out, std::move(values_[out]));
    }
  }
  const bool to_end = machine_.recipe().reentrant;
  for (NodeId id = block.first; id < block.last && (to_end || !region.complete()); ++id)
    execute(id);
  if (to_end) {
    const Value made = values_[graph_.nodes[block.last - 1].outputs[0]].detached();
    machine_.give_to_region({&made, 1});
  }
  for (auto& [tensor, value] : before) values_[tensor] = std::move(value);
}

}  // namespace plimsoll
