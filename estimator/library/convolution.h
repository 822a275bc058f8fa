// The time of a convolution, by the algorithm that its policy ends up with. Private to
// estimator/library.
#pragma once

#include "estimator/kernels/kernel_prediction.h"
#include "estimator/library/conv_call.h"

namespace plimsoll {

// `model`: convolution_model()'s, of depthwise kernels.
ConvCost depthwise_cost(const KernelAt& kernel, const ClassModel& model,
                        const TimeContext& context);
KernelPrediction predict_depthwise(const KernelAt& kernel, const ClassModel& model,
                                   const TimeContext& context);
// ... of grouped ones.
ConvCost grouped_cost(const KernelAt& kernel, const ClassModel& model, const TimeContext& context);
KernelPrediction predict_grouped(const KernelAt& kernel, const ClassModel& model,
                                 const TimeContext& context);
// ... of others.
KernelPrediction predict_convolution(const KernelAt& kernel, const ClassModel& model,
                                     const TimeContext& context);
// ... of any, by one algorithm of them.
KernelPrediction predict_by(const ConvCost& algorithm, const KernelAt& kernel,
                            const ClassModel& model, const TimeContext& context);

}  // namespace plimsoll
