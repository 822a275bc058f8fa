#include "graph/parallel/data_parallel.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/eager/ops.h"

namespace plimsoll::parallel {

using eager::GradNode;
using eager::Value;

DataParallel::DataParallel(eager::Machine& m) : m_(m), behaviour_(m.policy().exchange) {
  plan_buckets();
}

void DataParallel::plan_buckets() {
  struct Open {
    Bucket bucket{};
    Dim count = 0;
    bool first = true;  // of its type
  };
  std::map<std::pair<DType, bool>, Open> open;  // by type, those of experts apart
  const auto close = [&](DType type, Open& at) {
    if (behaviour_.copies_buckets)
      at.bucket.buffer = m_.resident(type, {at.count}, Role::kTemporary).storage()->id();
    for (const GradNode* leaf : at.bucket.leaves) bucket_of_[leaf] = buckets_.size();
    buckets_.push_back(std::move(at.bucket));
    at = {.first = false};
  };
  const auto& leaves = m_.leaves();
  for (size_t i = leaves.size(); i-- > 0;) {  // backward reaches the last parameters first
    const auto& part = leaves[i]->split;
    std::vector<SumAlong> sums = sums_of(m_.recipe().parallel, part);
    if (sums.empty()) continue;
    const DType type = leaves[i]->leaf.dtype();
    Open& at = open[{type, part && part->axis == Axis::kExpert}];
    at.bucket.sums = std::move(sums);
    at.bucket.of_experts = part && part->axis == Axis::kExpert;
    at.bucket.leaves.push_back(leaves[i].get());
    at.bucket.bytes += leaves[i]->leaf.bytes();
    at.count += leaves[i]->leaf.count();
    const Dim limit = at.first ? behaviour_.first_bucket_bytes : behaviour_.bucket_bytes;
    if (!m_.decider().less(at.bucket.bytes, limit)) close(type, at);
  }
  for (auto& [of, at] : open) {
    if (!at.bucket.leaves.empty()) close(of.first, at);
  }
}

void DataParallel::begin_forward(std::span<const Value> weights, std::span<const Value> buffers) {
  if (behaviour_.replicates) {
    Dim bytes = 0;
    for (const auto values : {weights, buffers}) {
      for (const Value& value : values) bytes += value.bytes();
    }
    exchange_at_once(CollectiveKind::kBroadcast, bytes, sums_of(m_.recipe().parallel));
  } else if (behaviour_.copies_buckets) {
    std::map<DType, Dim> counts;
    for (const Value& buffer : buffers) counts[buffer.dtype()] += buffer.count();
    for (const auto& [type, count] : counts) {
      const Value joined = eager::fill(m_, type, {count});
      exchange_at_once(CollectiveKind::kBroadcast, joined.bytes(), sums_of(m_.recipe().parallel));
    }
  }
}

void DataParallel::exchange_at_once(CollectiveKind kind, const Dim& bytes,
                                    const std::vector<SumAlong>& sums) {
  if (bytes == Dim(0)) return;
  for (const auto& [axis, joined] : sums)
    m_.await(m_.issue({.kind = kind, .axis = axis, .bytes = bytes, .joined = joined}));
}

void DataParallel::begin_backward(bool last) {
  if (!last) return;
  sums_ = true;
  if (in_chunks()) return;  // another one's gradients are in some of them
  for (Bucket& bucket : buckets_) bucket.arrived = 0;
}

void DataParallel::gradient_ready(GradNode& leaf) {
  const auto place = bucket_of_.find(&leaf);
  if (!sums_ || place == bucket_of_.end()) return;
  Bucket& bucket = buckets_[place->second];
  const bool whole = ++bucket.arrived == bucket.leaves.size();
  if (whole && behaviour_.sums_during_backward && !behaviour_.replicates) issue(bucket);
}

// Of a pipeline's stage, each of which has a last backward pass of its own.
bool DataParallel::in_chunks() const { return m_.recipe().parallel.chunks > 1; }

void DataParallel::issue(Bucket& bucket) {
  for (const auto& [axis, joined] : bucket.sums)
    issued_.push_back(
        m_.issue({.axis = axis, .bytes = bucket.bytes, .buffer = bucket.buffer, .joined = joined}));
  bucket.arrived = 0;
}

void DataParallel::end_backward() {
  if (!std::exchange(sums_, false)) return;
  Dim left = 0, of_experts = 0;
  std::vector<SumAlong> among_experts;
  for (Bucket& bucket : buckets_) {
    if (bucket.arrived == 0 || in_chunks()) continue;
    if (behaviour_.sums_during_backward && !behaviour_.replicates) {
      issue(bucket);
    } else if (bucket.of_experts) {
      of_experts += bucket.bytes;
      among_experts = bucket.sums;
    } else {
      left += bucket.bytes;
    }
  }
  const auto kind = behaviour_.replicates ? CollectiveKind::kReduce : CollectiveKind::kAllReduce;
  exchange_at_once(kind, left, sums_of(m_.recipe().parallel));
  exchange_at_once(kind, of_experts, among_experts);
  for (const uint32_t collective : std::exchange(issued_, {})) m_.await(collective);
}

}  // namespace plimsoll::parallel
