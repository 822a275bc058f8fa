#include "graph/parallel/zero.h"

#include <utility>

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

ZeroTraining::ZeroTraining(eager::Machine& m) : m_(m) {}

bool ZeroTraining::parts_gradients() const {
  return m_.recipe().parallel.sharded >= Sharded::kGradients;
}

void ZeroTraining::begin_backward(bool last) {
  last_ = last;
  filled_ = of_experts_ = 0;
  if (parts_gradients())
    bucket_ = m_.allocate(m_.recipe().precision->storage, {Dim(kReduceBucket)});
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
  if (!m_.decider().less(filled_ + count, Dim(kReduceBucket + 1))) reduce();
  filled_ += count;
  if (Holders(m_.recipe().parallel, leaf.split).of_experts()) of_experts_ += count;
  const Value read[] = {leaf.gradient};
  m_.launch_over(KernelClass::kCopy, "copy", 0, read, window_on_bucket(count));
  leaf.gradient = {};
}

void ZeroTraining::reduce() {
  if (filled_ == Dim(0)) return;
  const DType dtype = bucket_.dtype();
  {
    const Value joined = m_.allocate(dtype, {filled_});
    const Value read[] = {window_on_bucket(filled_)};
    m_.launch_over(KernelClass::kCopy, "cat", 0, read, joined);
    const Value sent = sent_copy(m_, joined, Stream::kCompute);
    sum(bytes(sent.dtype(), filled_ - of_experts_), std::nullopt);
    sum(bytes(sent.dtype(), of_experts_), Placement{Axis::kExpert, 0});
  }
  filled_ = of_experts_ = 0;
  if (part_.defined()) return;
  Dim mine = 0;
  for (const auto& leaf : m_.leaves()) mine += leaf->updated ? elements(*leaf->updated) : Dim(0);
  part_ = m_.allocate(dtype, {mine});
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
    bucket_ = m_.allocate(m_.recipe().precision->storage, {Dim(kReduceBucket)});
    for (const auto& leaf : m_.leaves()) {
      if (leaf->updated) put(*leaf);
    }
  }
  if (!bucket_.defined()) return;
  reduce();
  bucket_ = {};
  if (last_) give_gradients();
}

// Windows on this device's part.
void ZeroTraining::give_gradients() {
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
