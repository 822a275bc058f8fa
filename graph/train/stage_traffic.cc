#include "graph/train/stage_traffic.h"

#include <utility>

namespace plimsoll {
namespace {

void tell_next(eager::Machine& machine, const eager::Value& value) {
  machine.await(machine.issue({.kind = CollectiveKind::kSendReceive,
                               .axis = Axis::kStage,
                               .bytes = value.bytes(),
                               .buffer = value.storage()->id()}));
}

}  // namespace

void StageTraffic::receive(eager::Machine& machine, Forward& forward,
                           const PlannedNetwork& network) {
  for (const TensorId id : network.received) {
    const Tensor& t = forward.graph().tensors[id];
    eager::Value given = machine.allocate(t.dtype, *t.shape);
    tell_next(machine, given);
    if (machine.grad_enabled() && is_float(t.dtype)) {
      given_.push_back(machine.require_gradient(given));
      given_.back()->received = true;
    }
    forward[id] = std::move(given);
  }
}

void StageTraffic::send(eager::Machine& machine, Forward& forward, const PlannedNetwork& network) {
  for (const TensorId id : network.outputs) {
    const eager::Value& out = forward[id];
    if (!out.defined() || !out.on_device()) continue;
    tell_next(machine, out);
    if (!out.requires_grad()) continue;
    eager::Value root(out.layout_ref(), nullptr);
    root.set_grad(out.grad(), out.grad_output());
    sent_.push_back(std::move(root));
  }
}

void StageTraffic::backward(eager::Machine& machine, eager::Machine::PutOff* put_off) const {
  std::vector<eager::Value> gradients;
  for (const eager::Value& root : sent_) {
    gradients.push_back(machine.allocate(root.dtype(), root.sizes()));
    tell_next(machine, gradients.back());
  }
  machine.backward(sent_, gradients, nullptr, put_off);
}

void StageTraffic::send_back(eager::Machine& machine) const {
  for (const eager::GradNodeRef& leaf : given_) {
    if (leaf->gradient.defined()) tell_next(machine, leaf->gradient);
    leaf->gradient = {};
  }
}

void sum_tied(eager::Machine& machine, Forward& forward, const std::vector<TensorId>& tied) {
  for (const TensorId id : tied) {
    const eager::GradNodeRef& leaf = forward[id].grad();
    if (!leaf || !leaf->gradient.defined() || !leaf->gradient.on_device()) continue;
    machine.await(machine.issue({.kind = CollectiveKind::kAllReduce,
                                 .axis = Axis::kStage,
                                 .bytes = leaf->gradient.bytes()}));
  }
}

}  // namespace plimsoll
