#include "graph/eager/data_parallel.h"

#include <map>

#include "graph/eager/ops.h"

namespace plimsoll::eager {

void make_gradient_buckets(Machine& m) {
  const Policy& policy = m.policy();
  if (policy.gradient_bucket_bytes == 0) return;
  std::map<DType, Dim> open;  // counts by type: a bucket has one
  bool first = true;
  const auto close = [&](DType type, Dim& count) {
    m.resident(type, {count}, Role::kTemporary);
    count = 0;
    first = false;
  };
  const auto& leaves = m.leaves();
  for (size_t i = leaves.size(); i-- > 0;) {  // backward reaches the last parameters first
    const DType type = leaves[i]->leaf.dtype();
    Dim& count = open[type];
    count += leaves[i]->leaf.count();
    const Dim limit = first ? policy.first_gradient_bucket_bytes : policy.gradient_bucket_bytes;
    if (!m.decider().less(bytes(type, count), limit)) close(type, count);
  }
  for (auto& [type, count] : open) {
    if (count != Dim(0)) close(type, count);
  }
}

void broadcast_buffers(Machine& m, std::span<const Value> buffers) {
  if (m.policy().gradient_bucket_bytes == 0) return;
  std::map<DType, Dim> counts;
  for (const Value& buffer : buffers) counts[buffer.dtype()] += buffer.count();
  for (const auto& [type, count] : counts) fill(m, type, {count});
}

}  // namespace plimsoll::eager
