// The time of a convolution, by the algorithm that its policy ends up with. Private to
// estimator/time.
#pragma once

#include "estimator/time/conv_call.h"
#include "estimator/time/draft.h"

namespace plimsoll {

// `model`: convolution_model()'s, of depthwise kernels.
ConvCost depthwise_cost(const KernelAt& kernel, const ClassModel& model,
                        const TimeContext& context);
Draft draft_depthwise(const KernelAt& kernel, const ClassModel& model, const TimeContext& context);
// ... of grouped ones.
ConvCost grouped_cost(const KernelAt& kernel, const ClassModel& model, const TimeContext& context);
Draft draft_grouped(const KernelAt& kernel, const ClassModel& model, const TimeContext& context);
// ... of others.
Draft draft_convolution(const KernelAt& kernel, const ClassModel& model,
                        const TimeContext& context);

}  // namespace plimsoll
