// device_properties: a GPU described to cuDNN as JSON, in place of a handle that only the GPU gives
// (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, cuDNN 9.8 and later).
#pragma once

#include <string>

#include "graph/base/diagnostic.h"
#include "hwdb/device.h"

namespace plimsoll {

// Of the keys, the compute capability decides the answers, on 9.0 the two clocks as well; all that
// cuDNN reads must be there. E703 for a compute capability that cuDNN 9 does not know.
Result<std::string> device_properties(const Device& device);

}  // namespace plimsoll
