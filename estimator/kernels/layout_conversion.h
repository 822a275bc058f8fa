// Layout conversion: tensor cores convolve channels last, ordinary cores channels first, and
// what comes the other way is copied before and after the convolution. Private to
// estimator/kernels, estimator/library and calibrate.
#pragma once

#include "estimator/kernels/conv_algorithms.h"
#include "estimator/kernels/device_rates.h"
#include "estimator/kernels/time_options.h"

namespace plimsoll {

// Seconds of copying operands and result of one pass of a convolution from `layout` to the one its
// unit wants, or back. `cudnn`: 100 * major + minor, 0 for the newest.
double layout_conversion_seconds(const ConvShape& shape, Layout layout, bool on_tensor_cores,
                                 int cudnn, const DeviceRates& card);

}  // namespace plimsoll
