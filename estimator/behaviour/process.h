// What a framework's process takes outside its allocator: the context on the card, and memory of
// the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "estimator/request/platform.h"
#include "graph/base/range.h"
#include "hwdb/context.h"

namespace plimsoll {

// Of the training process on the host and of each one that loads for it.
struct HostProcess {
  int64_t base = 0, worker = 0;    // base: with nothing loaded; 0: not known
  Range base_range, worker_range;  // of 95 %
  int64_t batches_per_worker = 0;  // that it has ready, the one in work included
  double dataset_copies = 1;       // of a data set that lies in memory
};

HostProcess host_process(const FrameworkProfile& framework);

struct ProcessBehaviour {
  ContextRow context{};                    // for this card and version of CUDA
  std::optional<ModuleLoading> loading{};  // nothing: neither asked for nor told by the row
  std::string context_basis{};             // which row, and why
  bool collective_buffers = false;         // NCCL's channels take memory outside the allocator
  HostProcess host{};
};

// `loading`: as asked.
ProcessBehaviour process_behaviour(const Platform& platform, std::optional<ModuleLoading> loading);

}  // namespace plimsoll
