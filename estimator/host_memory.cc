#include "estimator/host_memory.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

HostMemory host_memory(const FrameworkProfile& framework, const HostLoad& load) {
  if (framework.host_base.value == 0) return {};
  const double samples =
      framework.host_dataset_copies * static_cast<double>(load.samples_in_memory);
  const double data = samples * static_cast<double>(load.bytes_per_sample);
  const int64_t above =
      std::llround(std::min(data, 1e15)) + load.batches_ahead * load.batch * load.bytes_per_sample;
  return {.bytes = framework.host_base.value + above,
          .range = {framework.host_base_low.value + above, framework.host_base_high.value + above}};
}

}  // namespace plimsoll
