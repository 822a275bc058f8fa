// GPUs as they were recorded: a file that plimsoll-monitor --out wrote, read sample by sample. The
// tests put faults in here; a user looks at a run once more, or at one from another machine.
#pragma once

#include <memory>

#include "calibrate/gpu.h"
#include "graph/base/diagnostic.h"

namespace plimsoll::monitor {

// Lines with "gpus" are samples, in the file's order; of each the members that sample.h writes, and
// "faults", a list of texts, where a call failed. Other lines are passed over. After the last
// sample the last goes on. E601 to E606 as ByteSource, E30x for what is no JSON, E311 and E312 for
// members of another kind, E501 where there is no sample.
Result<std::unique_ptr<GpuSource>> open_gpu_recording(const std::string& path);

}  // namespace plimsoll::monitor
