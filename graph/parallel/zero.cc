#include "graph/parallel/zero.h"

#include <utility>

#include "graph/eager/update.h"

namespace plimsoll::parallel {

using eager::GradNode;
using eager::Value;

Value sent_copy(eager::Machine& m, const Value& joined, Stream stream) {
  const DType type = sent_type(m.recipe().parallel, joined.dtype());
  if (type == joined.dtype()) return joined;
  const Value copy = m.allocate_in(stream, type, {joined.count()});
  const Value read[] = {joined};
  m.launch_over(KernelClass::kCopy, "cast", 0, read, copy);
  return copy;
}

ZeroTraining::ZeroTraining(eager::Machine& m) : m_(m) {
  if (is_offloaded()) keep_on_host();
}

// stage_1_and_2.py, 0.18: __init__() and initialize_optimizer_states(): masters and their
// gradients, new weights on their way back, a buffer of the largest weight on both sides; of
// several passes the sums of whole gradients (async_accumulate_grad_in_cpu_via_gpu()).
void ZeroTraining::keep_on_host() {
  const DType stored = m_.recipe().precision->storage;
  DType updated = stored;
  Dim mine = 0, largest = 0;
  for (const auto& leaf : m_.leaves()) {
    largest = max(largest, leaf->leaf.count());
    if (!leaf->updated) continue;
    updated = eager::updated_type(m_.recipe(), eager::updated_part(*leaf)).dtype;
    mine += elements(*leaf->updated);
    if (m_.recipe().accumulate > 1)
      m_.keep_on_host(leaf->leaf.dtype(), leaf->leaf.sizes(), Role::kGradient);
  }
  m_.resident(stored, {largest}, Role::kTemporary);
  m_.keep_on_host(stored, {largest}, Role::kTemporary);
  m_.keep_on_host(updated, {mine}, Role::kGradient);
  m_.keep_on_host(stored, {mine}, Role::kTemporary);
}

bool ZeroTraining::parts_gradients() const {
  return m_.recipe().parallel.sharded >= Sharded::kGradients;
}

void ZeroTraining::begin_backward(bool last) {
  last_ = last;
  filled_ = of_experts_ = 0;
  if (parts_gradients())
    bucket_ = m_.allocate(m_.recipe().precision->storage, {Dim(m_.recipe().parallel.zero_bucket)});
}

void ZeroTraining::gradient_ready(GradNode& leaf) {
  if (bucket_.defined() && leaf.updated) put(leaf);
}

Value ZeroTraining::window_on_bucket(const Dim& count) const {
  return m_.view_of(bucket_, eager::contiguous_layout(bucket_.dtype(), {count}));
}

// A whole gradient goes to the bucket, which is summed where it is full.
void ZeroTraining::put(GradNode& leaf) {
  if (!leaf.gradient.defined()) return;
  const Dim& count = leaf.gradient.count();
  if (!m_.decider().less(filled_ + count, Dim(m_.recipe().parallel.zero_bucket + 1))) reduce();
  filled_ += count;
  in_bucket_.push_back(&leaf);
  if (Holders(m_.recipe().parallel, leaf.split).of_experts()) of_experts_ += count;
  if (m_.decider().less(Dim(m_.recipe().parallel.zero_bucket), count)) {
    large_ = std::exchange(leaf.gradient, {});
    return;
  }
  const Value read[] = {leaf.gradient};
  m_.launch_over(KernelClass::kCopy, "copy", 0, read, window_on_bucket(count));
  leaf.gradient = {};
}

Value ZeroTraining::joined_bucket() const {
  Value joined = m_.allocate(bucket_.dtype(), {filled_});
  const Value read[] = {window_on_bucket(filled_)};
  m_.launch_over(KernelClass::kCopy, "cat", 0, read, joined);
  return joined;
}

void ZeroTraining::reduce() {
  if (filled_ == Dim(0)) return;
  const DType dtype = bucket_.dtype();
  {
    const Value joined = large_.defined() ? std::exchange(large_, {}) : joined_bucket();
    const Value sent = sent_copy(m_, joined, Stream::kCompute);
    sum(bytes(sent.dtype(), filled_ - of_experts_), std::nullopt);
    sum(bytes(sent.dtype(), of_experts_), Placement{Axis::kExpert, 0});
  }
  filled_ = of_experts_ = 0;
  if (is_offloaded()) return send_to_host();
  if (part_.defined()) return;
  Dim mine = 0;
  for (const auto& leaf : m_.leaves()) mine += leaf->updated ? elements(*leaf->updated) : Dim(0);
  part_ = m_.allocate(dtype, {mine});
}

// async_inplace_copy_grad_to_fp32_buffer_from_gpu(); of several passes what the host has is added
// on the device, and goes back whole.
void ZeroTraining::send_to_host() {
  for (GradNode* const leaf : std::exchange(in_bucket_, {})) {
    const TensorType mine = eager::updated_type(m_.recipe(), eager::updated_part(*leaf));
    if (m_.recipe().accumulate > 1) {
      if (passes_ > 0) m_.await(m_.copy_from_host(leaf->leaf.bytes()));
      leaving_.push_back(m_.copy_to_host(leaf->leaf.bytes()));
    }
    if (!last_) continue;
    Value wide;
    if (mine.dtype != leaf->leaf.dtype()) {
      wide = m_.allocate(mine.dtype, mine.shape);
      m_.launch_over(KernelClass::kCopy, "cast", 0, {}, wide);
    }
    leaving_.push_back(m_.copy_to_host(bytes(mine)));
  }
}

// Those of experts among the ranks that have the same ones (expert_dp_process_group).
void ZeroTraining::sum(const Dim& bytes, const std::optional<Placement>& part) {
  if (bytes == Dim(0)) return;
  const Holders holders(m_.recipe().parallel, part);
  for (Collective& one : holders.exchanges(CollectiveKind::kAllReduce, bytes, kNoBuffer))
    m_.await(m_.issue(std::move(one)));
}

void ZeroTraining::end_backward() {
  if (last_ && !parts_gradients()) {
    bucket_ = m_.allocate(m_.recipe().precision->storage, {Dim(m_.recipe().parallel.zero_bucket)});
    for (const auto& leaf : m_.leaves()) {
      if (leaf->updated) put(*leaf);
    }
  }
  if (!bucket_.defined()) return;
  reduce();
  bucket_ = {};
  for (const uint32_t gradient : std::exchange(leaving_, {})) m_.await(gradient);
  passes_ = last_ ? 0 : passes_ + 1;
  if (last_) give_gradients();
}

// Windows on this device's part.
void ZeroTraining::give_gradients() {
  if (is_offloaded()) {
    for (const auto& leaf : m_.leaves()) {
      const TensorType mine = eager::updated_type(m_.recipe(), eager::updated_part(*leaf));
      if (leaf->updated && leaf->reached) leaf->gradient = m_.host(mine.dtype, mine.shape);
    }
    return;
  }
  const Value part = std::exchange(part_, {});
  if (!part.defined()) return;
  m_.become_gradient(part);
  for (const auto& leaf : m_.leaves()) {
    if (leaf->updated && leaf->reached)
      leaf->gradient = m_.view_of(part, eager::contiguous_layout(part.dtype(), *leaf->updated));
  }
}

void ZeroTraining::after_update() {
  for (const bool of_experts : {false, true}) {
    const Placement expert{Axis::kExpert, 0};
    const Holders holders(m_.recipe().parallel, of_experts ? std::optional(expert) : std::nullopt);
    Dim bytes = 0;
    for (const auto& leaf : m_.leaves()) {
      const bool expert_weight = Holders(m_.recipe().parallel, leaf->split).of_experts();
      if (leaf->updated && expert_weight == of_experts) bytes += leaf->leaf.bytes();
    }
    if (bytes == Dim(0)) continue;
    for (Collective& one : holders.exchanges(CollectiveKind::kAllGather, bytes, kNoBuffer))
      m_.await(m_.issue(std::move(one)));
  }
}

}  // namespace plimsoll::parallel
