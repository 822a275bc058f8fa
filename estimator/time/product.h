// A product of matrices as libraries run it: with few vectors by memory's bandwidth, else tiled.
// Private to estimator/time.
#pragma once

#include "estimator/time/kernel_prediction.h"
#include "estimator/time/time_context.h"
#include "estimator/time/time_model.h"

namespace plimsoll {

// `model`: one of products.
KernelPrediction predict_product(const KernelAt& kernel, const ClassModel& model,
                                 const TimeContext& context);

}  // namespace plimsoll
