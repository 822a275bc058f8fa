#include "graph/parallel/flat_sharded.h"

#include <algorithm>
#include <utility>

#include "graph/eager/update.h"
#include "graph/parallel/kept_parts.h"

namespace plimsoll::parallel {

using eager::Value;

FlatTraining::FlatTraining(eager::Machine& m, const std::vector<Unit>& units, const Unit& around,
                           std::span<const Value> values,
                           const std::map<TensorId, Placement>& computed)
    : UnitObserver(units, around, computes_loss(m.recipe())), m_(m), plan_(m.recipe().parallel) {
  for (const bool apart : {false, true}) {
    for (const Unit& unit : units) add(unit, values, computed, apart);
    add(around, values, computed, apart);
  }
  if (!is_offloaded()) m_.keep_gradients();
}

void FlatTraining::add(const Unit& unit, std::span<const Value> values,
                       const std::map<TensorId, Placement>& computed, bool apart) {
  groups_.push_back({.holders = Holders(plan_, std::nullopt)});
  Group& group = groups_.back();
  std::vector<Dim> counts;
  const auto is_flat = [&](TensorId id) {
    const Value& whole = values[id];
    return whole.defined() && whole.on_device() && whole.storage()->id() == kNoBuffer;
  };
  const bool parted = plan_.adapters_apart && std::ranges::any_of(unit.weights, [&](TensorId id) {
                        return is_flat(id) && !values[id].requires_grad();
                      });
  for (const TensorId id : unit.weights) {
    const Value& whole = values[id];
    const Holders holders(plan_, placement_of(computed, id));
    const bool is_apart = holders.of_experts() || (parted && whole.requires_grad());
    if (!is_flat(id) || is_apart != apart) continue;
    group.holders = holders;
    group.weights.push_back(whole);
    counts.push_back(whole.count());
  }
  if (counts.empty()) return;
  group.dtype = group.weights.front().dtype();
  group.trained = std::ranges::any_of(group.weights, &Value::requires_grad);
  group.kept = eager::kept_type(m_.recipe(), group.dtype, group.trained);
  group.sent = sent_type(plan_, group.kept);
  const FlatParts parts = flat_parts(counts, flat_alignment(group.dtype), 1, group.holders.mesh());
  group.whole = parts.whole;
  group.part = parts.part;
  if (!is_offloaded()) {
    m_.resident(group.kept, {group.part}, Role::kParameter);
    return;
  }
  m_.keep_on_host(group.kept, {group.part}, Role::kParameter);
  m_.keep_on_host(group.kept, {group.part}, Role::kGradient);
}

// Parameters are windows on the part that came from the host, unless that was cast, until they are
// the host's again (_flat_param.py, flat_param_to() and _use_sharded_views()).
bool FlatTraining::holds_brought(const Group& group) const {
  return is_offloaded() && group.kept == group.dtype && group.holders.ranks() > 1;
}

// Whole weights that stay for the backward pass are the host's between the passes: their part comes
// once more, though nothing is gathered of it (pre_unshard()).
void FlatTraining::bring_again(Group& group) {
  if (!group.bound || !holds_brought(group)) return;
  group.brought = m_.allocate_in(Stream::kGather, group.kept, {group.part});
  m_.await(m_.copy_from_host(group.brought.bytes()));
}

void FlatTraining::before_unit(size_t unit, Pass pass) {
  for (Group* group : groups_of(unit)) {
    if (pass == Pass::kBackward && unit == around()) bring_again(*group);
    gather(*group);
    end_gathering(*group);
  }
  if (pass == Pass::kForward && after(unit) < around()) {
    for (Group* ahead : groups_of(after(unit))) begin_gathering(*ahead);
  } else if (pass == Pass::kBackward && unit > 0) {
    for (Group* ahead : groups_of(unit - 1)) gather(*ahead);
  }
}

void FlatTraining::after_unit(size_t unit, Pass pass) {
  for (Group* group : groups_of(unit)) {
    if (pass == Pass::kBackward) {
      reduce(*group);
    } else if (unit != around() && !plan_.keeps_gathered) {
      unbind(*group);
    } else if (unit == around()) {
      group->brought = {};
    }
  }
}

void FlatTraining::before_node_again(size_t unit, std::span<const Value> inputs) {
  const Group& group = groups_[unit];
  if (!m_.recipe().reentrant || group.trained || group.weights.empty()) return;
  for (const Value& in : inputs) {
    if (!in.on_device() || !in.requires_grad() || in.grad()->is_leaf) continue;
    const eager::GradNode* made_by = in.grad().get();
    const bool known = std::ranges::find(hooked_, made_by, &Hooked::made_by) != hooked_.end();
    if (known || unit_of(made_by->node) == unit) continue;
    hooked_.push_back({made_by, {in.detached()}});
  }
}

void FlatTraining::before_backward_with(const eager::GradNode& node,
                                        std::span<const Value> gradients) {
  const auto hooked = std::ranges::find(hooked_, &node, &Hooked::made_by);
  if (hooked == hooked_.end()) return;
  std::vector<Value>& tensors = hooked->tensors;
  tensors.insert(tensors.end(), gradients.begin(), gradients.end());
}

// Unless that has begun, or the array is there. In a forward pass the host runs ahead of its device
// until two arrays are there (_unshard(), limit_all_gathers): one is gathered beside the unit
// before, and has memory where the host comes to its own.
void FlatTraining::begin_gathering(Group& group) {
  if (group.bound || !group.gathering.empty() || group.weights.empty()) return;
  const Dim bytes = plimsoll::bytes(group.dtype, group.whole);
  if (is_offloaded())
    group.gathering.push_back(m_.copy_from_host(plimsoll::bytes(group.kept, group.part)));
  for (Collective& one : group.holders.exchanges(CollectiveKind::kAllGather, bytes, kNoBuffer))
    group.gathering.push_back(m_.issue(std::move(one)));
}

// The array is the first weight's memory; the others are windows on it.
void FlatTraining::gather(Group& group) {
  if (group.bound || group.weights.empty()) return;
  const bool casts = group.kept != group.dtype,
             single = is_offloaded() && group.holders.ranks() == 1;
  Value mine, brought;
  if (casts && !single) mine = m_.allocate_in(Stream::kGather, group.dtype, {group.part});
  if (is_offloaded() && (casts || !single))
    brought = m_.allocate_in(Stream::kGather, group.kept, {group.part});
  if (casts) {
    if (mine.defined()) m_.launch_over(KernelClass::kCopy, "cast", group.part, {}, mine);
    brought = {};
  }
  const Dim bytes = plimsoll::bytes(group.dtype, group.whole);
  for (const Value& weight : group.weights) {
    const bool first = &weight == &group.weights.front();
    m_.bind(weight, first ? bytes : Dim(0), Stream::kGather);
  }
  m_.free_late(group.weights.front());
  if (holds_brought(group)) group.brought = std::move(brought);
  begin_gathering(group);
  group.bound = true;
}

void FlatTraining::end_gathering(Group& group) {
  for (const uint32_t one : std::exchange(group.gathering, {})) m_.await(one);
}

void FlatTraining::unbind(Group& group) {
  if (!std::exchange(group.bound, false)) return;
  group.brought = {};
  for (const Value& weight : group.weights) m_.unbind(weight);
}

void FlatTraining::begin_backward(bool last) {
  last_ = last;
  for (Group& group : groups_) {
    for (const Value& weight : group.weights) {
      if (weight.requires_grad()) weight.grad()->gradient = {};
    }
  }
  UnitObserver::begin_backward(last);
}

// Backward of the split into weights: both are alive for a moment. What an earlier pass left whole
// is added to.
Value FlatTraining::joined_gradients(Group& group) {
  std::vector<Value> gradients;
  for (const Value& weight : group.weights) {
    if (!weight.requires_grad() || !weight.grad()->gradient.defined()) continue;
    gradients.push_back(std::exchange(weight.grad()->gradient, {}));
  }
  if (gradients.empty()) return {};
  Value joined = m_.allocate(group.dtype, {group.whole});
  m_.free_late(joined);
  m_.launch_over(KernelClass::kCopy, "cat", 0, gradients, joined);
  gradients.clear();
  if (!group.joined.defined()) return joined;
  m_.launch_rows(KernelClass::kPointwise, "add", joined.count(), {&group.joined, &joined},
                 {&group.joined});
  return std::exchange(group.joined, {});
}

// Weights go before their gradients are summed.
void FlatTraining::reduce(Group& group) {
  Value whole = joined_gradients(group);
  unbind(group);
  if (!whole.defined()) return;
  if (plan_.exchanges_last && !last_) {
    group.joined = std::move(whole);
    return;
  }
  Value sum = summed(group, std::move(whole));
  if (is_offloaded()) leaving_.push_back(m_.copy_to_host(sum.bytes()));
  if (!group.gradient.defined()) {
    group.gradient = std::move(sum);
    return;
  }
  m_.launch_rows(KernelClass::kPointwise, "add", sum.count(), {&group.gradient, &sum},
                 {&group.gradient});
}

// This device's part, in the type that is kept.
Value FlatTraining::summed(const Group& group, Value whole) {
  Value cast = whole;
  if (group.sent != group.dtype) {
    cast = m_.allocate_in(Stream::kReduce, group.sent, {group.whole});
    const Value read[] = {whole};
    m_.launch_over(KernelClass::kCopy, "cast", 0, read, cast);
  }
  const bool one_rank = is_offloaded() && group.holders.ranks() == 1;
  Value sum = one_rank ? cast : m_.allocate_in(Stream::kReduce, group.sent, {group.part});
  if (!one_rank) {
    end_reduction();
    // What is sent is of the collective's own stream, which the host need not wait for.
    for (Collective& one :
         group.holders.exchanges(CollectiveKind::kReduceScatter, cast.bytes(), kNoBuffer))
      reducing_.push_back(m_.issue(std::move(one)));
    if (plan_.mesh.extent(Axis::kData) > 1) reduced_ = sum.bytes();
  }
  if (group.sent == group.kept) return sum;
  Value mine = m_.allocate_in(Stream::kReduce, group.kept, {group.part});
  const Value read[] = {sum};
  m_.launch_over(KernelClass::kCopy, "cast", 0, read, mine);
  return mine;
}

// Replicas sum on a stream of their own, which the step waits for behind its backward pass
// (_runtime_utils.py, _reduce_grad() and _post_backward_final_callback(): _all_reduce_stream).
void FlatTraining::end_reduction() {
  for (const uint32_t one : std::exchange(reducing_, {})) m_.await(one);
  if (reduced_ != Dim(0))
    summing_.push_back(m_.issue({.axis = Axis::kData, .bytes = std::exchange(reduced_, 0)}));
}

void FlatTraining::end_backward() {
  UnitObserver::end_backward();
  hooked_.clear();
  end_reduction();
  for (const uint32_t sum : std::exchange(summing_, {})) m_.await(sum);
  for (const uint32_t gradient : std::exchange(leaving_, {})) m_.await(gradient);
  for (Group& group : groups_) {
    // What another chunk's forward pass is to read goes on.
    const bool ahead = !group.gathering.empty() && !group.bound && !last_;
    if (!ahead) end_gathering(group);
    unbind(group);
    if (last_ || is_offloaded()) give_gradients(group);
  }
}

// Each weight's gradient is a window on the part's.
void FlatTraining::give_gradients(Group& group) {
  const Value gradient = std::exchange(group.gradient, {});
  if (!gradient.defined()) return;
  if (!is_offloaded()) m_.become_gradient(gradient);
  for (const Value& weight : group.weights) {
    if (!weight.requires_grad()) continue;
    eager::GradNode& leaf = *weight.grad();
    const Shape mine = leaf.updated.value_or(Shape{});
    leaf.gradient = is_offloaded()
                        ? m_.host(group.kept, mine)
                        : m_.view_of(gradient, eager::contiguous_layout(group.kept, mine));
  }
}

}  // namespace plimsoll::parallel
