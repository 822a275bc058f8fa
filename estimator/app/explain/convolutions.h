// convolutions: what cuDNN would be asked about a training step, to ask it beforehand.
#pragma once

#include <vector>

#include "estimator/library/workspace/conv_question.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

// Of request.devices[0], each question once, in the order of the step: at the request's sizes and,
// with --longest or --lengths, at the longest batch's. Errors as estimate().
Result<std::vector<ConvQuestion>> convolutions(const Request& request, const Hwdb& hwdb);

}  // namespace plimsoll
