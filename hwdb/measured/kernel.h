// A measured kernel or layer as a kernel: what time, validation and fits make of a record, by one
// table of the words that records have for kernels.
#pragma once

#include "graph/base/diagnostic.h"
#include "graph/ir/kernel.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

// The kernel of a record of kind "kernel", or why there is none: the error's text is the reason.
// Products are told column-major as cuBLAS is called, those of the variants "linear" and "bmm"
// row-major as they stand.
tl::expected<KernelAt, std::string> kernel_of(const MeasuredRun& run);
// The same of kind "layer".
tl::expected<KernelAt, std::string> layer_kernel_of(const MeasuredRun& run);

}  // namespace plimsoll
