// The memory curve: what lives in device memory over one step, as a picture shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "estimator/memory/timeline.h"
#include "estimator/step/bound_step.h"
#include "estimator/time/kernel_price.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct CompiledModel;

struct MemoryMoment {
  int64_t launch = 0;
  int64_t at_ns = 0;  // on the GPU's time line, of launches one after the other
  Phase phase = Phase::kForward;
  std::string node;  // whose event it is; empty for loss and update
  // In the allocator's granules; a kernel's workspace while it runs, and no context.
  BytesByRole live{};
  int64_t bytes = 0;  // the sum of those
};

inline void describe(Fields& f, MemoryMoment& m, int64_t context_bytes) {
  f("launch", m.launch, "kernels launched before");
  f("at_ns", m.at_ns);
  f("phase", m.phase);
  f("node", m.node, {.null_where = m.node.empty()});
  describe_roles(f, "by_role", m.live);
  f("bytes", context_bytes + m.bytes, "of all roles, and context_bytes");
}

// At most `most` moments, each at another launch: the step's launches in as many runs of equal
// length, of each run the fullest moment, so that no peak is lost. `prices` by KernelId; `granule`
// and `storages` as of walk(). Cost: linear in events.
std::vector<MemoryMoment> memory_curve(const CompiledModel& model, const BoundStep& bound,
                                       const std::vector<KernelPrice>& prices, int64_t granule,
                                       std::span<const BufferId> storages, size_t most);

}  // namespace plimsoll
