// Platform: what a step runs on, each part by the name that a request gives it.
#pragma once

#include <optional>
#include <string>

#include "estimator/request/request.h"
#include "hwdb/hwdb.h"
#include "hwdb/step_errors.h"

namespace plimsoll {

// A device, a framework on it and the data that prices kernels there.
struct Platform {
  Device device;
  FrameworkProfile framework;
  Host host;
  std::optional<Link> link;     // between GPUs of a machine, where the request asks for several
  std::optional<Link> network;  // between machines, likewise
  Version cudnn, cuda;          // as asked, or those usual for the framework's
  std::string exchange;         // of gradients, a scheme's name: as asked, or the framework's
  StepErrors errors{};
  Hwdb hwdb{};  // where they are from
};

// The device's memory, or what the request says, 0 where a host's is not known; and without the
// user's reserve, a display's share and what the framework leaves to the system (TensorFlow's
// MinSystemMemory).
int64_t memory_bytes(const Platform& platform, const Request& request);
int64_t usable_bytes(const Platform& platform, const Request& request);

}  // namespace plimsoll
