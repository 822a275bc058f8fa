#include "graph/parallel/zero_weights.h"

#include <utility>

#include "graph/parallel/zero.h"

namespace plimsoll::parallel {

using eager::GradNode;
using eager::Value;

namespace {

// deepspeed/runtime/zero/config.py: stage3_max_reuse_distance.
constexpr int64_t kReuseDistance = 1000000000;

}  // namespace

std::vector<Unit> readers_of_weights(const Graph& graph) {
  std::vector<Unit> units;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId in : graph.nodes[id].inputs) {
      if (in == kNoTensor || graph.tensors[in].kind != TensorKind::kParameter) continue;
      units.push_back({.module = graph.nodes[id].module, .first = id, .last = id + 1});
      break;
    }
  }
  return units;
}

ZeroWeights::ZeroWeights(eager::Machine& m, const std::vector<Unit>& units, const Unit& around,
                         std::span<const Value> values)
    : UnitObserver(units, around), m_(m) {
  for (const Unit& unit : units) add(unit, values);
  add(around, values);
  if (m_.recipe().mode == Mode::kInference) return;
  const DType dtype = m_.recipe().precision->storage;
  bucket_ = m_.resident(dtype, {Dim(kReduceBucket)}, Role::kTemporary);
  Dim mine = 0;
  for (const auto& leaf : m_.leaves()) mine += leaf->updated ? elements(*leaf->updated) : Dim(0);
  part_ = m_.resident(dtype, {mine}, Role::kGradient);
}

void ZeroWeights::add(const Unit& unit, std::span<const Value> values) {
  Group& group = groups_.emplace_back();
  for (const TensorId id : unit.weights) {
    const Value& whole = values[id];
    if (!whole.defined() || !whole.on_device() || whole.storage()->id() != kNoBuffer) continue;
    group.weights.push_back(whole);
    group.count += whole.count();
    group.bytes += whole.bytes();
  }
}

// Parts come as one array, which weights are copied out of.
void ZeroWeights::before_unit(size_t unit, Pass /*pass*/) {
  Group& group = groups_[unit];
  if (group.bound || group.weights.empty()) return;
  const Value buffer = m_.allocate_in(Stream::kGather, DType::kInt8, {group.bytes});
  m_.await(m_.issue({.kind = CollectiveKind::kAllGather,
                     .axis = Axis::kShard,
                     .bytes = group.bytes,
                     .buffer = buffer.storage()->id(),
                     .joined = true}));
  for (const Value& weight : group.weights) m_.bind(weight, weight.bytes());
  const Value read[] = {buffer};
  m_.launch_over(KernelClass::kCopy, "cat", 0, read, buffer);
  group.bound = true;
}

void ZeroWeights::after_unit(size_t unit, Pass pass) {
  if (pass == Pass::kForward && is_needed_soon(unit)) return;
  unbind(groups_[unit]);
}

// Between its use in a forward pass and the next in the backward pass all units behind it come
// twice.
bool ZeroWeights::is_needed_soon(size_t unit) const {
  if (m_.recipe().mode == Mode::kInference) return false;
  Dim distance = 0;
  for (size_t later = unit + 1; later < groups_.size(); ++later)
    distance += groups_[later].count * Dim(2);
  return m_.decider().less(distance, Dim(kReuseDistance));
}

void ZeroWeights::unbind(Group& group) {
  if (!std::exchange(group.bound, false)) return;
  for (const Value& weight : group.weights) m_.unbind(weight);
}

void ZeroWeights::begin_backward(bool last) {
  last_ = last;
  filled_ = 0;
  for (const auto& leaf : m_.leaves()) {
    if (leaf->updated) leaf->gradient = {};
  }
  UnitObserver::begin_backward(last);
}

Value ZeroWeights::window_on_bucket(const Dim& count) const {
  return m_.view_of(bucket_, eager::contiguous_layout(bucket_.dtype(), {count}));
}

void ZeroWeights::gradient_ready(GradNode& leaf) {
  if (!leaf.updated || !leaf.gradient.defined()) return;
  const Dim& count = leaf.gradient.count();
  if (!m_.decider().less(filled_ + count, Dim(kReduceBucket + 1))) reduce();
  filled_ += count;
  const Value read[] = {leaf.gradient};
  m_.launch_over(KernelClass::kCopy, "copy", 0, read, window_on_bucket(count));
  leaf.gradient = {};
}

// What is sent is joined by rank; parts are added to those that are kept.
void ZeroWeights::reduce() {
  if (filled_ == Dim(0)) return;
  const Value joined = m_.allocate_in(Stream::kReduce, bucket_.dtype(), {filled_});
  const Value read[] = {window_on_bucket(filled_)};
  m_.launch_over(KernelClass::kCopy, "cat", 0, read, joined);
  m_.await(m_.issue({.kind = CollectiveKind::kReduceScatter,
                     .axis = Axis::kShard,
                     .bytes = joined.bytes(),
                     .buffer = joined.storage()->id(),
                     .joined = true}));
  filled_ = 0;
}

void ZeroWeights::end_backward() {
  UnitObserver::end_backward();
  reduce();
  for (Group& group : groups_) unbind(group);
  for (const auto& leaf : m_.leaves()) {
    if (last_ && leaf->updated && leaf->reached)
      leaf->gradient = m_.view_of(part_, eager::contiguous_layout(part_.dtype(), *leaf->updated));
  }
}

}  // namespace plimsoll::parallel
