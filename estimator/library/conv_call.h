// A convolution as a framework calls it: which unit multiplies it, group by group or at once.
// Private to estimator/library.
#pragma once

#include "estimator/kernels/conv_algorithms.h"
#include "estimator/kernels/time_context.h"
#include "estimator/kernels/time_model.h"

namespace plimsoll {

// Such channels no network has but for its image; libraries have other kernels for them.
bool has_odd_channels(const ConvProblem<int64_t>& problem);

// The unit that multiplies `kernel`, a convolution or not.
Arithmetic unit_of(const KernelAt& kernel, const TimeContext& context);

// A convolution's sizes, with the bytes of its operands in memory and where they are multiplied.
ConvShape shape_of(const KernelAt& kernel, const TimeContext& context);

// That of the unit, or of depthwise or grouped kernels where they were measured.
const ClassModel& convolution_model(const KernelAt& kernel, const TimeContext& context);

// What a library call of `kernel` convolves: all of it, or one of its groups.
struct ConvCall {
  ConvProblem<int64_t> problem;
  ConvShape shape;
  double calls = 1;
};
ConvCall call_of(const KernelAt& kernel, const TimeContext& context);

}  // namespace plimsoll
