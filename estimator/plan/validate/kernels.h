// A measured kernel or layer as the kernel that kernel_time() prices.
#pragma once

#include "graph/base/diagnostic.h"
#include "graph/ir/kernel.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

// The kernel of a record of kind "kernel", or why there is none: the error's text is the reason.
tl::expected<KernelAt, std::string> kernel_of(const MeasuredRun& run);
// The same of kind "layer".
tl::expected<KernelAt, std::string> layer_kernel_of(const MeasuredRun& run);

}  // namespace plimsoll
