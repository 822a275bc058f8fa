#include "estimator/memory/evaluation_memory.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "estimator/memory/replay_input.h"
#include "graph/base/checked.h"
#include "graph/ir/display_name.h"

namespace plimsoll {
namespace {

constexpr auto kInputs = static_cast<size_t>(Role::kInput);
constexpr auto kTemporaries = static_cast<size_t>(Role::kTemporary);

// Ranks that evaluate other batches, and gather each other's outputs: accelerate's
// gather_for_metrics() (transformers/trainer.py 5.24, evaluation_loop()).
int64_t gathering_ranks(const ParallelPlan& plan) {
  const Mesh& mesh = plan.mesh;
  return mesh.extent(Axis::kData) * mesh.extent(Axis::kShard);
}

// Of the floating-point outputs of a pass, in the type that the program is given them in.
int64_t output_bytes(const EvaluationPoint& pass) {
  const CompiledModel& model = *pass.model;
  const Recipe& recipe = model.recipe;
  const bool widened =
      recipe.widened_outputs == WidenedOutputs::kFabric ||
      (recipe.widened_outputs == WidenedOutputs::kAccelerate && recipe.precision->autocast);
  int64_t sum = 0;
  for (const TensorId id : model.graph.outputs) {
    const Tensor& t = model.graph.tensors[id];
    if (!t.shape || !is_float(t.dtype)) continue;
    const DType made = recipe.precision->autocast ? product_type(*recipe.precision) : t.dtype;
    const int64_t width = bits(widened ? DType::kFloat32 : made);
    sum += elements(*t.shape).evaluate(pass.binding).value_or(0) * width / 8;
  }
  return sum * gathering_ranks(recipe.parallel);
}

// Of a language model's labels, which are gathered beside its outputs: a whole number for each row
// of scores.
int64_t label_bytes(const EvaluationPoint& pass) {
  const CompiledModel& model = *pass.model;
  if (model.recipe.loss != Loss::kCausalLm || model.graph.outputs.empty()) return 0;
  const Tensor& scores = model.graph.tensors[model.graph.outputs.front()];
  if (!scores.shape || scores.shape->empty()) return 0;
  Dim rows(1);
  for (size_t i = 0; i + 1 < scores.shape->size(); ++i) rows = rows * (*scores.shape)[i];
  return rows.evaluate(pass.binding).value_or(0) * bits(DType::kInt64) / 8 *
         gathering_ranks(model.recipe.parallel);
}

int64_t sum_of(const BytesByRole& roles) {
  return std::accumulate(roles.begin(), roles.end(), int64_t{0});
}

// Weights that ranks share and that are whole behind a pass: FSDP's outermost module keeps its own
// until it has run backward (FSDPState._lazy_init(), reshard_after_forward;
// _runtime_utils.py, _post_forward_reshard()).
int64_t whole_weights(const EvaluationPoint& pass, int64_t rounding) {
  const Step& step = pass.model->step;
  int64_t sum = 0;
  for (size_t i = 0; i < step.end_of_forward; ++i) {
    const Event& e = step.events[i];
    const bool begins = e.kind == Event::Kind::kAllocate, ends = e.kind == Event::Kind::kFree;
    if (!(begins || ends) || step.buffers[e.id].role != Role::kParameter) continue;
    const int64_t bytes = round_up(pass.bound.buffer_bytes[e.id], rounding);
    sum += begins ? bytes : -bytes;
  }
  return sum;
}

// Where more is alive as the outputs of all passes are joined: those of the others and of the last
// one, and all of them once more.
void take_joining(BytesByRole joining, const Timeline& step, const Timeline& pass, int64_t outputs,
                  EvaluationMemory& m) {
  joining[kInputs] = step.peak_by_role[kInputs] + pass.peak_by_role[kInputs];
  joining[kTemporaries] += outputs;
  if (sum_of(joining) <= sum_of(m.peak_by_role)) return;
  m.peak_by_role = joining;
  m.peak_phase = Phase::kLoss;
  m.peak_node.clear();
}

}  // namespace

std::vector<int64_t> gradients_left(const CompiledModel& step, const BoundStep& bound) {
  std::vector<int64_t> left;
  if (step.recipe.zero_grad != ZeroGrad::kBefore || step.step.gradients_stay) return left;
  for (const Event& e : step.step.events) {
    if (e.kind == Event::Kind::kBecomeGradient && !step.step.buffers[e.id].resident)
      left.push_back(bound.buffer_bytes[e.id]);
  }
  return left;
}

PassesBetween passes_between(const EvaluationPoint& pass, const AllocatorBehaviour& allocator) {
  ReplayInput input = replay_input(*pass.model, pass.bound, pass.workspaces, allocator,
                                   std::nullopt, storages_of(*pass.model, pass.bound, allocator));
  return {.inputs = std::move(input.inputs),
          .events = std::move(input.step),
          .workspaces = std::move(input.workspaces),
          .left = pass.left,
          .outputs = output_bytes(pass),
          .gathered = pass.gathered};
}

void set_evaluation(const EvaluationPoint& pass, const Timeline& t, const Timeline& step,
                    int64_t rounding, MemoryEstimate& memory) {
  EvaluationMemory& m = *memory.evaluation;
  m.batch = batch_at(*pass.model, pass.binding);
  m.outputs_bytes = output_bytes(pass);
  // Of the batches before the last one, and of the last of them by its name.
  const int64_t gathered = pass.gathered;
  m.gathered_bytes = gathered > 2 ? gathered * m.outputs_bytes : (gathered > 1) * m.outputs_bytes;
  m.step_live_peak_bytes = step.peak_bytes;
  m.step_allocated_peak_bytes = memory.steady_allocated_bytes;
  m.peak_phase = t.peak_phase;
  m.peak_node = t.peak_node == kNoNode ? "" : display_name(pass.model->graph, t.peak_node);
  // What stays of the training is in place of what the pass has of it: weights among it.
  BytesByRole stays = step.persistent_by_role;
  for (const int64_t bytes : pass.left)
    stays[static_cast<size_t>(Role::kGradient)] += round_up(bytes, rounding);
  BytesByRole& roles = m.peak_by_role;
  roles = stays;
  roles[kInputs] = step.peak_by_role[kInputs] + t.peak_by_role[kInputs];
  for (size_t r = 0; r < roles.size(); ++r) {
    if (r != kInputs) roles[r] += t.peak_by_role[r] - t.persistent_by_role[r];
  }
  roles[kTemporaries] += m.gathered_bytes;
  if (gathered > 1) {
    const int64_t labels = gathered * label_bytes(pass);
    roles[kTemporaries] += labels;
    stays[static_cast<size_t>(Role::kParameter)] += whole_weights(pass, rounding);
    take_joining(stays, step, t, 2 * gathered * m.outputs_bytes + labels, m);
  }
  m.live_peak_bytes = sum_of(roles);
  m.holds_peak = m.live_peak_bytes > m.step_live_peak_bytes;
  if (!m.holds_peak) return;
  memory.live_peak_bytes = m.live_peak_bytes;
  memory.peak_phase = m.peak_phase;
  memory.peak_node = m.peak_node;
  memory.peak_by_role = m.peak_by_role;
  for (size_t r = 0; r < roles.size(); ++r)
    memory.max_by_role[r] = std::max(memory.max_by_role[r], roles[r]);
}

}  // namespace plimsoll
