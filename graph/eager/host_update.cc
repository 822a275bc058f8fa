#include "graph/eager/host_update.h"

#include "graph/eager/masters.h"

namespace plimsoll::eager {
namespace {

// torchao/optim/cpu_offload.py, CPUOffloadOptimizer, 0.14: minimal_size.
constexpr int64_t kSmall = 4096;

bool is_library(const Machine& m, ShardedBy library) {
  const ParallelPlan& plan = m.recipe().parallel;
  return plan.is_sharded() && plan.sharded_by == library;
}

// DeepSpeedCPUAdam and PyTorch's fused optimizers, which torchao takes, go over memory once;
// others line by line, as on a device.
bool is_fused(const Machine& m) {
  return !m.recipe().parallel.is_sharded() || is_library(m, ShardedBy::kZero);
}

Dim states_of(const UpdateRule& rule, const TensorType& parameter) {
  Dim sum = 0;
  for (const TypeOf state : rule.states) sum += bytes(state(parameter));
  return sum;
}

Dim traffic_of(const Machine& m, const UpdateRule& rule, const TensorType& parameter) {
  const Dim states = states_of(rule, parameter);
  if (is_fused(m)) return bytes(parameter) * Dim(3) + states * Dim(2);
  const bool decays = m.recipe().weight_decay;
  Dim sum = 0;
  for (const UpdatePass& pass : rule.passes) {
    if (pass.when == (decays ? UpdatePass::When::kDoesNotDecay : UpdatePass::When::kDecays))
      continue;
    const TensorType over = pass.over ? pass.over(parameter) : parameter;
    sum += bytes(over) * Dim(pass.read + pass.written);
    if (pass.made) sum += bytes(pass.made(parameter));
    if (pass.states) sum += states * Dim(2);
  }
  return sum;
}

}  // namespace

bool updates_all_on_host(const Machine& m) {
  const ParallelPlan& plan = m.recipe().parallel;
  return plan.offload.states && (plan.is_sharded() || copies_masters(m.recipe()));
}

bool is_updated_on_host(Machine& m, const GradNode& leaf) {
  if (!m.recipe().parallel.offload.states) return false;
  return updates_all_on_host(m) || !m.decider().less(leaf.leaf.count(), kSmall);
}

void keep_state(Machine& m, const GradNode& leaf, const TensorType& state, bool copied) {
  if (is_updated_on_host(m, leaf)) {
    m.keep_on_host(state.dtype, state.shape, Role::kOptimizerState, copied);
  } else {
    m.reside(state, Role::kOptimizerState);
  }
}

void update_on_host(Machine& m) {
  const Recipe& recipe = m.recipe();
  const ParallelPlan& plan = recipe.parallel;
  const bool masters = copies_masters(recipe);
  Dim traffic = 0, stored = 0;
  for (const auto& leaf : m.leaves()) {
    if (!leaf->gradient.defined()) continue;
    const TensorType part = updated_part(*leaf);
    if (!plan.offload.states || is_updated_on_host(m, *leaf)) stored += bytes(part);
    if (!is_updated_on_host(m, *leaf)) continue;
    const TensorType type = updated_type(recipe, part);
    traffic += traffic_of(m, rule_of(*recipe.optimizer, type, m.decider()), type);
    // Norms read gradients once, which are then multiplied in place.
    if (recipe.clip_grad_norm) traffic += bytes(type) * Dim(3);
    if (masters) traffic += bytes(type) + bytes(part);
  }
  if (stored == Dim(0)) return;
  if (!plan.offload.states) {
    if (is_library(m, ShardedBy::kZero)) m.await(m.copy_to_host(stored));
    return;
  }
  const uint32_t work = m.work_on_host(traffic);
  if (!plan.is_sharded()) {  // parameter by parameter, each copied while the next one is updated
    const uint32_t copy = m.copy_from_host(stored);
    m.await(work);
    m.await(copy);
    return;
  }
  m.await(work);
  if (!plan.offload.parameters) m.await(m.copy_from_host(stored));
}

}  // namespace plimsoll::eager
