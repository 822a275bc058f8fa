// Which part of a figure its gap most likely lies in, by what else was measured of the same run: of
// memory the context, the allocator's segments, cuDNN's workspace or the tensors; of a step its
// passes, or its kernels and the host.
#pragma once

#include <span>

#include "estimator/app/validate/line.h"
#include "estimator/app/validate/quantities.h"

namespace plimsoll {

// Fills `gap` of the lines of one record whose figure can be taken apart: the part that is furthest
// off in the direction in which the whole is. Lines are in MiB or ms.
void find_gaps(std::span<ValidationLine> lines, const Answer& answer);

}  // namespace plimsoll
