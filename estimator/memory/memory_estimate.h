// What a step needs of memory, with everything that a view shows of it. Bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "estimator/memory/module_storages.h"
#include "estimator/memory/timeline.h"
#include "estimator/memory/verdict.h"
#include "hwdb/context.h"

namespace plimsoll {

// Of a process that takes more than it needs as long as there is room: pools, scratch memory.
struct GrownMemory {
  int64_t bytes = 0;
  Range range;
};

struct MemoryEstimate {
  int64_t parameter_count = 0;
  int64_t parameter_bytes = 0, buffer_bytes = 0, gradient_bytes = 0, optimizer_state_bytes = 0;
  int64_t input_bytes = 0;
  int64_t saved_bytes = 0;
  int64_t live_peak_bytes = 0;
  BytesByRole max_by_role{};
  int64_t activations_peak_bytes = 0;                // of feature maps and temporaries together
  std::array<int64_t, kPhaseCount> max_temporary{};  // of temporaries, by phase
  Phase peak_phase = Phase::kForward;
  std::string peak_node;  // "layer1.0.conv3" or the node's name; empty between nodes
  BytesByRole peak_by_role{};
  std::optional<ModuleStorages> modules;  // of frameworks whose modules hold them
  int64_t workspace_bytes = 0;
  int64_t timed_workspace_bytes = 0;  // most that timing an algorithm asks for; 0: none is timed
  std::string workspace_basis;        // "rule", "asked", "measured", "none"
  int64_t allocated_peak_bytes = 0, reserved_bytes = 0;
  // Of a later step, in which nothing is tried out; its range where how far off a framework's plan
  // of its tensors is has been measured.
  int64_t steady_allocated_bytes = 0;
  std::optional<Range> steady_range;
  // Of a first step in which plans are timed with scratch memory that is given back, and that may
  // be less where the card is full; else 0.
  int64_t timing_peak_bytes = 0;
  int64_t context_bytes = 0, device_bytes = 0;
  std::optional<ModuleLoading> module_loading;  // that context_bytes stands for, where it is known
  std::string context_basis;                    // which row, and why; empty where it was given
  Range device_range;
  Verdict verdict = Verdict::kDoesNotFit;  // of device_range
  // Inference in Python: what a name that outlives its use, or ends before it, may add or take at
  // the peak. In device_range.
  int64_t held_by_names = 0;
  // Smallest capacity in which the step still runs, at most device_bytes; where the request asks.
  std::optional<int64_t> minimum_bytes;
  // By a framework that takes the card whatever it needs, else 0; and what the process takes where
  // there is room (told to grow where it would take the card). What it needs, the smallest memory
  // in which its steps run and the context, is device_bytes then (demand.h).
  int64_t taken_bytes = 0;
  std::optional<GrownMemory> grown;
  int64_t host_bytes = 0;   // of the process and those that load its batches
  bool host_asked = false;  // the request says how data are loaded
  Range host_range;
};

}  // namespace plimsoll
