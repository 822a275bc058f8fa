#include "graph/parallel/zero.h"

#include <utility>

namespace plimsoll::parallel {

using eager::GradNode;
using eager::Value;

ZeroTraining::ZeroTraining(eager::Machine& m) : m_(m) {}

bool ZeroTraining::parts_gradients() const {
  return m_.recipe().parallel.sharded >= Sharded::kGradients;
}

void ZeroTraining::begin_backward(bool last) {
  last_ = last;
  filled_ = 0;
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
    m_.await(m_.issue({.axis = Axis::kShard, .bytes = joined.bytes(), .joined = true}));
  }
  filled_ = 0;
  if (part_.defined()) return;
  Dim mine = 0;
  for (const auto& leaf : m_.leaves()) mine += leaf->updated ? elements(*leaf->updated) : Dim(0);
  part_ = m_.allocate(dtype, {mine});
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
  Dim bytes = 0;
  for (const auto& leaf : m_.leaves()) bytes += leaf->updated ? leaf->leaf.bytes() : Dim(0);
  m_.await(m_.issue(
      {.kind = CollectiveKind::kAllGather, .axis = Axis::kShard, .bytes = bytes, .joined = true}));
}

}  // namespace plimsoll::parallel
