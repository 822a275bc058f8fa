#include "estimator/memory/host_memory.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace plimsoll {

HostMemory host_memory(const HostProcess& process, const HostLoad& load) {
  if (process.base == 0) return {};
  const int64_t batches = load.batches_ahead + load.workers * process.batches_per_worker;
  const double samples = process.dataset_copies * static_cast<double>(load.samples_in_memory) +
                         static_cast<double>(batches) * static_cast<double>(load.batch);
  const double data = samples * static_cast<double>(load.bytes_per_sample);
  const int64_t above = std::llround(std::min(data, 1e15));
  const auto all = [&](int64_t base, int64_t worker) {
    return base + load.workers * worker + above;
  };
  return {.bytes = all(process.base, process.worker),
          .range = {all(process.base_range.low, process.worker_range.low),
                    all(process.base_range.high, process.worker_range.high)}};
}

Context process_memory(const HostProcess& process, const HostLoad& load) {
  const HostMemory host = host_memory(process, load);
  if (host.bytes == 0) return {};
  const int64_t low = host.range.low - process.base_range.low;
  return {host.bytes, std::max<int64_t>(1, low), host.range.high};  // 0 would say that it is exact
}

namespace {

// ATen/core/CachingHostAllocator.h: pinned blocks are powers of two.
int64_t pinned_block(int64_t bytes) {
  return bytes > 0 ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes))) : 0;
}

}  // namespace

int64_t offloaded_bytes(const Step& step, const BoundStep& bound) {
  int64_t there = 0;
  for (size_t i = 0; i < step.on_host.size(); ++i) {
    const int64_t bytes = bound.on_host_bytes[i];
    there += step.on_host[i].pinned ? pinned_block(bytes) : bytes;
  }
  int64_t most = there;
  for (const Event& e : step.events) {
    if (e.kind != Event::Kind::kIssue || !step.collectives[e.id].stays) continue;
    const int64_t block = pinned_block(bound.collective_bytes[e.id]);
    there += step.collectives[e.id].kind == CollectiveKind::kToHost ? block : -block;
    most = std::max(most, there);
  }
  return most;
}

}  // namespace plimsoll
