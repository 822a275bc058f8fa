#include "graph/train/network_passes.h"

#include <algorithm>

#include "graph/eager/ops.h"
#include "graph/parallel/unit_observer.h"

namespace plimsoll {
namespace {

using eager::Machine;
using eager::Observer;
using eager::Value;

void disable_gradients(Machine& machine, bool disabled) {
  for (const auto& leaf : machine.leaves()) leaf->grad_disabled = disabled;
}

std::vector<Value> outputs_of(Forward& forward, const PlannedNetwork& network) {
  std::vector<Value> made;
  for (const TensorId out : network.outputs) made.push_back(forward[out]);
  return made;
}

}  // namespace

std::vector<TensorId> returned_by(const Graph& graph, const TrainingPlan& plan) {
  std::vector<TensorId> all = graph.outputs;
  for (const PlannedNetwork& network : plan.networks)
    all.insert(all.end(), network.outputs.begin(), network.outputs.end());
  return all;
}

std::vector<TensorId> received_by(const TrainingPlan& plan) {
  std::vector<TensorId> all;
  for (const PlannedNetwork& network : plan.networks)
    all.insert(all.end(), network.received.begin(), network.received.end());
  return all;
}

void feed(Forward& forward, const PlannedNetwork& network, const std::vector<Value>& made) {
  for (size_t i = 0; i < std::min(made.size(), network.inputs.size()); ++i) {
    forward[network.inputs[i]] = made[i];
  }
}

void run_networks(Machine& machine, Forward& forward, const Networks& chain) {
  machine.enter(Phase::kForward, kNoNode);
  machine.begin_autocast();
  for (size_t i = 0; i < chain.size(); ++i) {
    forward.run(chain[i]->first, chain[i]->last);
    if (i + 1 < chain.size()) feed(forward, *chain[i + 1], outputs_of(forward, *chain[i]));
  }
  // A loss that makes scores is inside the outermost module, and ends its forward pass.
  const Recipe& recipe = machine.recipe();
  const bool inside = forward.head() || parallel::computes_loss(recipe);
  const bool follows = machine.grad_enabled() || recipe.evaluates;
  if (!(inside && follows) || chain.back()->sends) machine.tell(&Observer::end_forward);
}

std::vector<Value> run_ahead(Machine& machine, Forward& forward, const Networks& ahead) {
  if (ahead.empty()) return {};
  const bool had_grad = machine.grad_enabled();
  machine.set_grad_enabled(false);
  run_networks(machine, forward, ahead);
  machine.end_autocast();
  std::vector<Value> made = outputs_of(forward, *ahead.back());
  forward.release();
  machine.set_grad_enabled(had_grad);
  return made;
}

void backward_from(Machine& machine, const Value& root, std::vector<Value>* kept,
                   Machine::PutOff* put_off) {
  const Value roots[] = {root};
  const Value gradients[] = {eager::fill(machine, root.dtype(), root.sizes())};
  machine.backward(roots, gradients, kept, put_off);
}

Value penalize_gradient(Machine& machine, Forward& forward, const PlannedNetwork& network,
                        const Value& real) {
  machine.enter(Phase::kForward, kNoNode);
  forward.release();
  const TensorId input = network.inputs.front();
  const Value parts[] = {real, forward[input].detached()};
  Value between = eager::elementwise(machine, "interpolate", parts, parts[0].dtype(), 3);
  const eager::GradNodeRef leaf = machine.require_gradient(between);
  forward[input] = between;
  run_networks(machine, forward, {&network});
  machine.tell(&Observer::end_forward);
  machine.end_autocast();
  machine.mark_end_of_forward();
  const Value& out = forward[network.outputs.front()];
  machine.enter(Phase::kBackward, kNoNode);
  std::vector<Value> kept;
  disable_gradients(machine, true);
  backward_from(machine, out, &kept);
  disable_gradients(machine, false);
  leaf->grad_disabled = true;
  if (leaf->gradient.defined()) {
    const Value norm = eager::sum_all(machine, leaf->gradient);
    const Value back[] = {leaf->gradient, norm};
    kept.push_back(eager::elementwise(machine, "norm_backward", back, between.dtype(), 2));
  }
  machine.tell(&Observer::begin_backward, true);
  backward_from(machine, out);
  machine.tell(&Observer::end_backward);
  leaf->gradient = {};
  return out;
}

}  // namespace plimsoll
