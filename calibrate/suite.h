// suite: kernels of many networks, for a machine file that is of use for more than one.
#pragma once

#include <string>
#include <vector>

#include "estimator/app/explain/predicted_kernels.h"

namespace plimsoll::calibrate {

const std::vector<std::string>& suite_names();  // "quick", "standard"

// Distinct kernels of the suite's networks on request.devices[0], each once: `quick` some forty of
// them, evenly; `standard` all, in fp32 and mixed precision. What else the request says holds for
// all of them, but for the model. Errors as estimate().
Result<PredictedStep> suite_kernels(const std::string& suite, const Request& request,
                                    const Hwdb& hwdb);

}  // namespace plimsoll::calibrate
