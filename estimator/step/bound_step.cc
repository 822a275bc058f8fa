#include "estimator/step/bound_step.h"

#include <algorithm>
#include <functional>

#include "graph/base/cancel.h"

namespace plimsoll {
namespace {

// A step with each count given its value by `at`.
template <class At>
BoundStep bound_by(const Step& step, const At& at) {
  BoundStep bound;
  bound.buffer_bytes.resize(step.buffers.size());
  for (BufferId id = 0; id < step.buffers.size(); ++id)
    at(bound.buffer_bytes[id], step.buffers[id].bytes);
  bound.kernels.resize(step.kernels.size());
  for (KernelId id = 0; id < step.kernels.size(); ++id) {
    check_cancelled();
    bind_into(bound.kernels[id], step.kernels[id], std::cref(at));
  }
  bound.collective_bytes.resize(step.collectives.size());
  for (size_t i = 0; i < step.collectives.size(); ++i)
    at(bound.collective_bytes[i], step.collectives[i].bytes);
  bound.at_first_bytes.resize(step.at_first.size());
  for (size_t i = 0; i < step.at_first.size(); ++i)
    at(bound.at_first_bytes[i], step.at_first[i].bytes);
  bound.on_host_bytes.resize(step.on_host.size());
  for (size_t i = 0; i < step.on_host.size(); ++i)
    at(bound.on_host_bytes[i], step.on_host[i].bytes);
  return bound;
}

// An extent that a formula makes negative holds nothing.
void keep_positive(std::vector<int64_t>& buffer_bytes) {
  for (int64_t& bytes : buffer_bytes) bytes = std::max<int64_t>(bytes, 0);
}

}  // namespace

Result<BoundStep> bind_step(const Step& step, const Binding& binding) {
  DimEvaluator evaluate(binding);
  std::optional<Diagnostics> failure;
  const auto at = [&](int64_t& value, const Dim& count) {
    auto known = evaluate(count);
    if (known) value = *known;
    if (!known && !failure) failure = std::move(known.error());
  };
  BoundStep bound = bound_by(step, at);
  if (failure) return tl::make_unexpected(std::move(*failure));
  keep_positive(bound.buffer_bytes);
  return bound;
}

StepBinder::StepBinder(const Step& step) : step_(step) {
  const auto at = [&](int64_t& value, const Dim& count) {
    if (const auto constant = count.constant()) {
      value = *constant;
    } else {
      counts_.push_back({tape_.add(count), &value});
    }
  };
  bound_ = bound_by(step, at);
  keep_positive(bound_.buffer_bytes);
}

Result<const BoundStep*> StepBinder::operator()(const Binding& binding) {
  if (at_ == binding) return &bound_;
  at_.reset();
  if (!tape_.run({&binding, 1})) {
    auto why = bind_step(step_, binding);
    return tl::make_unexpected(std::move(why.error()));
  }
  for (const Count& count : counts_) *count.place = tape_[count.slot].front();
  keep_positive(bound_.buffer_bytes);
  at_ = binding;
  return &bound_;
}

NodeId unbindable_node(const Step& step, const Binding& binding) {
  DimEvaluator evaluate(binding);
  bool bound = true;
  const auto at = [&](int64_t& value, const Dim& count) {
    const auto known = evaluate(count);
    bound = bound && known;
    value = known.value_or(0);
  };
  int64_t bytes = 0;
  KernelAt kernel;
  for (const Event& e : step.events) {
    if (e.kind == Event::Kind::kAllocate) at(bytes, step.buffers[e.id].bytes);
    if (e.kind == Event::Kind::kLaunch) bind_into(kernel, step.kernels[e.id], std::cref(at));
    if (!bound) return e.node;
  }
  return kNoNode;
}

bool guards_hold(const Step& step, const Binding& binding) {
  DimEvaluator evaluate(binding);
  return std::all_of(step.guards.begin(), step.guards.end(), [&](const Guard& g) {
    const auto value = evaluate(g.expression);
    if (!value) return false;
    const bool holds = g.kind == Guard::Kind::kZero ? *value == 0 : *value >= 0;
    return holds == g.holds;
  });
}

}  // namespace plimsoll
