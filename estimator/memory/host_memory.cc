#include "estimator/memory/host_memory.h"

#include <algorithm>
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

}  // namespace plimsoll
