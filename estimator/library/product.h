// A product of matrices as libraries run it: with few vectors by memory's bandwidth, else tiled.
// Private to estimator/library.
#pragma once

#include "estimator/kernels/kernel_prediction.h"
#include "estimator/kernels/time_context.h"
#include "estimator/kernels/time_model.h"

namespace plimsoll {

// `model`: one of products.
KernelPrediction predict_product(const KernelAt& kernel, const ClassModel& model,
                                 const TimeContext& context);

}  // namespace plimsoll
