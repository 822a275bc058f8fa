#include "estimator/memory/host_memory.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

HostMemory host_memory(const FrameworkProfile& framework, const HostLoad& load) {
  if (framework.host_base.value == 0) return {};
  const int64_t batches = load.batches_ahead + load.workers * framework.batches_per_worker;
  const double samples =
      framework.host_dataset_copies * static_cast<double>(load.samples_in_memory) +
      static_cast<double>(batches) * static_cast<double>(load.batch);
  const double data = samples * static_cast<double>(load.bytes_per_sample);
  const int64_t above = std::llround(std::min(data, 1e15));
  const auto all = [&](const Bytes& base, const Bytes& worker) {
    return base.value + load.workers * worker.value + above;
  };
  return {.bytes = all(framework.host_base, framework.host_worker),
          .range = {all(framework.host_base_low, framework.host_worker_low),
                    all(framework.host_base_high, framework.host_worker_high)}};
}

Context process_memory(const FrameworkProfile& framework, const HostLoad& load) {
  const HostMemory host = host_memory(framework, load);
  if (host.bytes == 0) return {};
  const int64_t low = host.range.low - framework.host_base_low.value;
  return {host.bytes, std::max<int64_t>(1, low), host.range.high};  // 0 would say that it is exact
}

}  // namespace plimsoll
