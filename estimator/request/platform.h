// Platform: what a step runs on, each part by the name that a request gives it, and what the
// request sets on it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "estimator/memory/allocator/allocator.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"
#include "hwdb/step_errors.h"

namespace plimsoll {

// A device, a framework on it and the data that prices kernels there.
struct Platform {
  Device device;
  FrameworkProfile framework;
  Host host;
  std::optional<Link> link{};     // between GPUs of a machine, where the request asks for several
  std::optional<Link> network{};  // between machines, likewise
  Version cudnn{}, cuda{};        // as asked, or those usual for the framework's
  AllocatorRules allocator{};     // the framework's, with its settings
  // The device's memory, or what the request says, 0 where a host's is not known; and without the
  // user's reserve, a display's share and what the framework leaves to the system (TensorFlow's
  // MinSystemMemory).
  int64_t memory_bytes = 0, usable_bytes = 0;
  int64_t gpu_count = 1, nodes = 1;  // of all machines, which share them evenly
  ParallelPlan parallel{};           // how they share the model
  std::string exchange{};            // of gradients, a scheme's name: as asked, or the framework's
  std::optional<Machine> machine{};  // what was measured on this very card
  // What cuDNN itself said of convolutions here: asked for this request, or listed on this card by
  // the version that the request is for; null for neither.
  std::shared_ptr<const AskedWorkspaces> asked{};
  StepErrors errors{};
  Hwdb hwdb{};  // where they are from

  bool one_process() const { return exchange == kDataParallel; }
};

}  // namespace plimsoll
