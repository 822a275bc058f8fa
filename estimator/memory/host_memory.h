// host_memory: what the training process takes of the machine's own memory.
#pragma once

#include <cstdint>

#include "estimator/behaviour/process.h"
#include "estimator/memory/device_memory.h"
#include "estimator/step/bound_step.h"
#include "graph/base/range.h"

namespace plimsoll {

struct HostLoad {
  int64_t bytes_per_sample = 0;   // as the step takes it
  int64_t samples_in_memory = 0;  // of a data set that is loaded as a whole; 0: streamed
  int64_t batch = 0;
  int64_t batches_ahead = 0;  // that the loader holds in pinned memory
  int64_t workers = 0;        // processes that load
};

struct HostMemory {
  int64_t bytes = 0;  // of the process and its workers; 0 where the framework's own is not known
  Range range;  // as wide as the framework's part; two equal runs differ by 600 MB (Mahendran)
};

// The framework with nothing loaded, the copies it makes of a data set in memory (PyTorch 2.0,
// TensorFlow 4.0: Torres et al. 2021, Table 4), the batches ahead, and each worker with those that
// it has ready.
HostMemory host_memory(const HostProcess& process, const HostLoad& load);

// The same as what a run on the host itself takes beside its tensors. The framework's part was
// measured beside a card, with CUDA's libraries, of which such a run may hold none: the low end is
// without it.
Context process_memory(const HostProcess& process, const HostLoad& load);

// What a device's step has in the host's memory, at most: what is there for good, and feature maps
// that have gone there and not come back. Cost: linear in events.
int64_t offloaded_bytes(const Step& step, const BoundStep& bound);

}  // namespace plimsoll
