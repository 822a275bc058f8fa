#include "graph/parallel/zero_weights.h"

#include <utility>

#include "graph/eager/update.h"
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
  if (!offload().states) {
    part_ = m_.resident(dtype, {mine}, Role::kGradient);
    return;
  }
  m_.keep_on_host(dtype, {mine}, Role::kGradient);
  for (const auto& leaf : m_.leaves()) {
    if (!leaf->updated) continue;
    const TensorType updated = eager::updated_type(m_.recipe(), eager::updated_part(*leaf));
    m_.keep_on_host(updated.dtype, updated.shape, Role::kGradient);
  }
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
  const int64_t ranks = m_.recipe().parallel.mesh.shards();
  if (ranks == 1) return copy_directly(group);
  Value mine;
  if (offload().parameters) {
    mine = m_.allocate_in(Stream::kGather, DType::kInt8, {part_of(group.bytes, ranks)});
    m_.await(m_.copy_from_host(mine.bytes()));
  }
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

void ZeroWeights::copy_directly(Group& group) {
  const bool comes = offload().parameters;  // else what is kept is what is used
  for (const Value& weight : group.weights) m_.bind(weight, comes ? weight.bytes() : Dim(0));
  if (comes) m_.await(m_.copy_from_host(group.bytes));
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
  in_bucket_.push_back(&leaf);
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
  const std::vector<GradNode*> sent = std::exchange(in_bucket_, {});
  if (!offload().states) return;
  for (const GradNode* const leaf : sent) send_to_host(*leaf);
}

void ZeroWeights::send_to_host(const GradNode& leaf) {
  const Shape mine = eager::updated_part(leaf).shape;
  const DType wide = eager::updated_type(m_.recipe(), eager::updated_part(leaf)).dtype;
  const Value sum = m_.allocate_in(Stream::kReduce, bucket_.dtype(), mine);
  leaving_.push_back(m_.copy_to_host(sum.bytes()));
  leaving_.push_back(m_.copy_from_host(sum.bytes()));
  if (!last_) return;
  const Value cast = m_.allocate_in(Stream::kReduce, wide, mine);
  m_.launch_over(KernelClass::kCopy, "cast", 0, {}, cast);
  leaving_.push_back(m_.copy_to_host(cast.bytes()));
}

void ZeroWeights::end_backward() {
  UnitObserver::end_backward();
  reduce();
  for (const uint32_t one : std::exchange(leaving_, {})) m_.await(one);
  for (Group& group : groups_) unbind(group);
  for (const auto& leaf : m_.leaves()) {
    if (!last_ || !leaf->updated || !leaf->reached) continue;
    const TensorType mine = eager::updated_type(m_.recipe(), eager::updated_part(*leaf));
    leaf->gradient =
        offload().states
            ? m_.host(mine.dtype, mine.shape)
            : m_.view_of(part_, eager::contiguous_layout(part_.dtype(), *leaf->updated));
  }
}

}  // namespace plimsoll::parallel
