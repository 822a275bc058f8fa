// roofline: the least that datasheets say of a kernel, max(flop / peak, bytes / bandwidth). What
// anybody can reckon without measurements, and so what predictions are held against.
#pragma once

#include "estimator/kernels/device_rates.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

// Seconds of one launch: the printed peak of the unit that its operands run on, the printed
// bandwidth, the flop and bytes of its operator and no algorithm's.
double roofline_seconds(const KernelAt& kernel, const DeviceRates& rates);

}  // namespace plimsoll
