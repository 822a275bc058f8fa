// Trace: a step as a time line: each launch with its time, live bytes by role between them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "estimator/memory/timeline.h"
#include "estimator/step/bound_step.h"
#include "estimator/time/kernel_price.h"

namespace plimsoll {

struct CompiledModel;

struct TraceLaunch {
  int64_t start_ns = 0, duration_ns = 0;
  std::string kernel;  // "conv", with the algorithm where there is one
  std::string node;    // whose forward or backward it serves; empty for loss and update
  Phase phase = Phase::kForward;
};

struct TraceSample {
  int64_t at_ns = 0;
  BytesByRole live{};
};

struct Trace {
  // One after the other, as the GPU's queue runs them. Passes that run again as they stand are one
  // entry of all their time ("14 more passes alike").
  std::vector<TraceLaunch> launches;
  std::vector<TraceSample> samples;  // wherever the live bytes change, last one of each instant
};

// `prices` by KernelId; `granule` and `storages` as of walk(). Cost: linear in events.
Trace trace_of(const CompiledModel& model, const BoundStep& bound,
               const std::vector<KernelPrice>& prices, int64_t granule,
               std::span<const BufferId> storages);

}  // namespace plimsoll
