#include "graph/eager/data_parallel.h"

#include <map>
#include <utility>

#include "graph/eager/ops.h"

namespace plimsoll::eager {

DataParallel::DataParallel(Machine& m) : m_(m), plan_(m.policy().sharding) {
  if (plan_.data_ranks <= 1) return;
  plan_buckets();
  m_.tell_of_gradients([this](const GradNode& leaf) { arrive(leaf); });
}

void DataParallel::plan_buckets() {
  struct Open {
    Bucket bucket{};
    Dim count = 0;
    bool first = true;  // of its type
  };
  std::map<DType, Open> open;
  const auto close = [&](DType type, Open& at) {
    if (plan_.copies_buckets)
      at.bucket.buffer = m_.resident(type, {at.count}, Role::kTemporary).storage()->id();
    for (const GradNode* leaf : at.bucket.leaves) bucket_of_[leaf] = buckets_.size();
    buckets_.push_back(std::move(at.bucket));
    at = {.first = false};
  };
  const auto& leaves = m_.leaves();
  for (size_t i = leaves.size(); i-- > 0;) {  // backward reaches the last parameters first
    if (leaves[i]->split) continue;
    const DType type = leaves[i]->leaf.dtype();
    Open& at = open[type];
    at.bucket.leaves.push_back(leaves[i].get());
    at.bucket.bytes += leaves[i]->leaf.bytes();
    at.count += leaves[i]->leaf.count();
    const Dim limit = at.first ? plan_.first_bucket_bytes : plan_.bucket_bytes;
    if (!m_.decider().less(at.bucket.bytes, limit)) close(type, at);
  }
  for (auto& [type, at] : open) {
    if (!at.bucket.leaves.empty()) close(type, at);
  }
}

void DataParallel::send(std::span<const Value> weights, std::span<const Value> buffers) {
  if (plan_.data_ranks <= 1) return;
  if (plan_.replicates) {
    Dim bytes = 0;
    for (const auto values : {weights, buffers}) {
      for (const Value& value : values) bytes += value.bytes();
    }
    exchange_at_once(CollectiveKind::kBroadcast, bytes);
  } else if (plan_.copies_buckets) {
    std::map<DType, Dim> counts;
    for (const Value& buffer : buffers) counts[buffer.dtype()] += buffer.count();
    for (const auto& [type, count] : counts) {
      const Value joined = fill(m_, type, {count});
      exchange_at_once(CollectiveKind::kBroadcast, joined.bytes());
    }
  }
}

void DataParallel::exchange_at_once(CollectiveKind kind, Dim bytes) {
  if (bytes != Dim(0)) m_.await(m_.issue({.kind = kind, .bytes = std::move(bytes)}));
}

void DataParallel::begin_sum() {
  sums_ = plan_.data_ranks > 1;
  for (Bucket& bucket : buckets_) bucket.arrived = 0;
}

void DataParallel::arrive(const GradNode& leaf) {
  const auto place = bucket_of_.find(&leaf);
  if (!sums_ || place == bucket_of_.end()) return;
  Bucket& bucket = buckets_[place->second];
  const bool whole = ++bucket.arrived == bucket.leaves.size();
  if (whole && plan_.sums_during_backward && !plan_.replicates) issue(bucket);
}

void DataParallel::issue(Bucket& bucket) {
  issued_.push_back(m_.issue({.bytes = bucket.bytes, .buffer = bucket.buffer}));
  bucket.arrived = 0;
}

void DataParallel::end_sum() {
  if (!std::exchange(sums_, false)) return;
  Dim left = 0;
  for (Bucket& bucket : buckets_) {
    if (bucket.arrived == 0) continue;
    if (plan_.sums_during_backward && !plan_.replicates) {
      issue(bucket);
    } else {
      left += bucket.bytes;
    }
  }
  exchange_at_once(plan_.replicates ? CollectiveKind::kReduce : CollectiveKind::kAllReduce,
                   std::move(left));
  for (const uint32_t collective : std::exchange(issued_, {})) m_.await(collective);
}

}  // namespace plimsoll::eager
