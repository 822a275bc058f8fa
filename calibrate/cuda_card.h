// cuda_card: the GPU of this machine, through the driver and NVIDIA's libraries, all of them loaded
// when it is opened.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "calibrate/card.h"

namespace plimsoll::calibrate {

struct CudaCardOptions {
  int index = 0;                                         // among the GPUs that CUDA shows
  int64_t memory = std::numeric_limits<int64_t>::max();  // bytes that may be in use at once
};

// E701 where there is no driver, or none of the libraries that kernels need; E702 for one that
// lacks a function, E705 where this program was built without their headers, E720 where there is no
// such GPU. Each says what brings what is missing.
Result<std::unique_ptr<Card>> open_cuda_card(const CudaCardOptions& options);

}  // namespace plimsoll::calibrate
