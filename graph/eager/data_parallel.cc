#include "graph/eager/data_parallel.h"

#include <map>

#include "graph/eager/ops.h"

namespace plimsoll::eager {

void make_gradient_buckets(Machine& m) {
  const Policy& policy = m.policy();
  if (policy.gradient_bucket_bytes == 0) return;
  struct Bucket {
    Dim count = 0;
    bool first = true;  // of its type
  };
  std::map<DType, Bucket> open;
  const auto close = [&](DType type, Bucket& bucket) {
    m.resident(type, {bucket.count}, Role::kTemporary);
    bucket = {.count = 0, .first = false};
  };
  const auto& leaves = m.leaves();
  for (size_t i = leaves.size(); i-- > 0;) {  // backward reaches the last parameters first
    const DType type = leaves[i]->leaf.dtype();
    Bucket& bucket = open[type];
    bucket.count += leaves[i]->leaf.count();
    const Dim limit =
        bucket.first ? policy.first_gradient_bucket_bytes : policy.gradient_bucket_bytes;
    if (!m.decider().less(bytes(type, bucket.count), limit)) close(type, bucket);
  }
  for (auto& [type, bucket] : open) {
    if (bucket.count != Dim(0)) close(type, bucket);
  }
}

void broadcast_buffers(Machine& m, std::span<const Value> buffers) {
  if (m.policy().gradient_bucket_bytes == 0) return;
  std::map<DType, Dim> counts;
  for (const Value& buffer : buffers) counts[buffer.dtype()] += buffer.count();
  for (const auto& [type, count] : counts) fill(m, type, {count});
}

}  // namespace plimsoll::eager
