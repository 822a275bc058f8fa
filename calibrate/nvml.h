// NVIDIA's management library, loaded at run time: a machine without it is told so, and nothing of
// it is needed to build. It is only asked: no clock, limit or mode is ever set.
#pragma once

#include <memory>

#include "calibrate/gpu.h"
#include "graph/base/diagnostic.h"

namespace plimsoll {

// `library`: a file, or a name that the loader's path is searched for. PCIe throughput, where it is
// wanted, is asked in a thread of its own, once a second: the driver measures for 20 ms at each
// call.
// E701 where there is no such library, E702 where it lacks the functions of every version since
// 331, E711 where it refuses to start (another version than the kernel's driver, no permission).
Result<std::unique_ptr<GpuSource>> open_nvml(const std::string& library = "libnvidia-ml.so.1",
                                             bool pcie = true);

}  // namespace plimsoll
