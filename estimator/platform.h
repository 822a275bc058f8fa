// Platform: what a step runs on, each part by the name that a request gives it.
#pragma once

#include <optional>
#include <string>

#include "estimator/request.h"
#include "hwdb/hwdb.h"
#include "hwdb/step_errors.h"

namespace plimsoll {

// A device, a framework on it and the data that prices kernels there.
struct Platform {
  Device device;
  FrameworkProfile framework;
  Host host;
  std::optional<Link> link;  // where the request asks for several GPUs
  StepErrors errors{};
  Hwdb hwdb{};  // where they are from
};

// --cudnn, or the version usual for the framework's. E103 where it is no version.
Result<Version> cudnn_version(const Platform& platform, const Request& request);

// --cuda, or the version usual for the framework's. E103 where it is no version.
Result<Version> cuda_version(const Platform& platform, const Request& request);

}  // namespace plimsoll
