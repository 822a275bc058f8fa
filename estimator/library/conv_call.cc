#include "estimator/library/conv_call.h"

#include <limits>

#include "estimator/kernels/fit_class.h"
#include "estimator/kernels/layout_conversion.h"

namespace plimsoll {
namespace {

// Tensor cores take channels in eights; from this version on the library pads them (cuDNN release
// notes 7.3). Before it weight gradients took as long as on ordinary cores: with 7.0 the backward
// passes of ResNet-152, DenseNet-161 and VGG-16 on V100, TITAN V and RTX 2080 Ti
// (u39kun/deep-learning-benchmark), which are 1.2 to 1.5 times shorter with 7.4.
constexpr int kAllOnTensorCores = 703;

// cuDNN knows groups since 7 (release notes: cudnnSetConvolutionGroupCount); before, frameworks
// called it for one group after the other (caffe2/operators/conv_op_cudnn.cc: for i < group_), but
// for depthwise layers, which have kernels of their own.
constexpr int kGroupsSince = 700;

bool calls_each_group(const ConvProblem<int64_t>& p, const TimeOptions& options) {
  const int cudnn = options.library.cudnn;
  return options.policy != AlgorithmPolicy::kIm2col && cudnn > 0 && cudnn < kGroupsSince &&
         p.groups > 1 && p.c > p.groups;
}

// Products of 16 bits with channels first have kernels of ordinary cores too, which multiply in 32
// bits (cuDNN 8, cudnnConvolutionForward: PSEUDO_HALF_CONFIG and NCHW for IMPLICIT_GEMM): what is
// timed takes them where turning the images for tensor cores takes longer, as in networks whose
// layers have few channels. From 9 on networks were measured with what cuDNN chose.
bool has_both_units(const KernelAt& kernel, const TimeOptions& options) {
  const auto& problem = std::get<ConvProblem<int64_t>>(kernel.problem);
  const int cudnn = options.library.cudnn;
  return options.policy == AlgorithmPolicy::kAutotune && cudnn >= kAllOnTensorCores &&
         cudnn < kProductsOnTensorCores && kernel.dtype == DType::kFloat16 && problem.groups == 1 &&
         options.layout == Layout::kChannelsFirst && !problem.channels_last;
}

// Of a product of channels first on `unit`, turned and turned back where it wants them last.
double seconds_on(Arithmetic unit, const KernelAt& kernel, const TimeContext& context) {
  const bool odd = has_odd_channels(std::get<ConvProblem<int64_t>>(kernel.problem));
  const ClassModel& model = odd ? context.odd_conv(unit) : context.conv(unit);
  if (!model.conv) return std::numeric_limits<double>::infinity();
  const ConvShape shape = convolution_shape(kernel, unit);
  const double in_situ = model.fit ? model.fit->in_situ : 1;
  return in_situ * model.conv->product(shape).seconds +
         layout_conversion_seconds(shape, Layout::kChannelsFirst, on_tensor_cores(unit),
                                   context.options().library.cudnn, context.rates());
}

// Depthwise terms are clocks of a multiprocessor, which has been much the same since Volta: four
// parts with a scheduler and 16 lanes of 32 bits each, or more (CUDA C++ Programming Guide,
// Compute Capability 7.x to 9.0); before, parts of 32 lanes or of two schedulers.
constexpr int kSameMultiprocessorSince = 70;

}  // namespace

bool has_odd_channels(const ConvProblem<int64_t>& p) {
  const int64_t in = p.c / p.groups, out = p.k / p.groups;
  return (in > 4 && in % 4 != 0) || out % 4 != 0;
}

Arithmetic unit_of(const KernelAt& kernel, const TimeContext& context) {
  const Arithmetic unit = arithmetic_on(context.rates(), kernel.dtype, kernel.tensor_core);
  const auto* conv = std::get_if<ConvProblem<int64_t>>(&kernel.problem);
  const TimeOptions& options = context.options();
  if (!conv || !on_tensor_cores(unit) || options.layout == Layout::kNative) return unit;
  if (has_both_units(kernel, options)) {
    const bool ordinary =
        seconds_on(Arithmetic::kF32, kernel, context) < seconds_on(unit, kernel, context);
    return ordinary ? Arithmetic::kF32 : unit;
  }
  const bool eights = conv->c / conv->groups % 8 == 0 && conv->k / conv->groups % 8 == 0;
  if (options.library.cudnn == 0 || options.library.cudnn >= kAllOnTensorCores) return unit;
  return eights && kernel.pass != Pass::kBackwardWeights ? unit : Arithmetic::kF32;
}

ConvShape shape_of(const KernelAt& kernel, const TimeContext& context) {
  return convolution_shape(kernel, unit_of(kernel, context));
}

const ClassModel& convolution_model(const KernelAt& kernel, const TimeContext& context) {
  const Arithmetic unit = unit_of(kernel, context);
  const bool odd = has_odd_channels(std::get<ConvProblem<int64_t>>(kernel.problem));
  const ClassModel& conv = odd ? context.odd_conv(unit) : context.conv(unit);
  const bool columns = context.options().policy == AlgorithmPolicy::kIm2col;
  const auto& problem = std::get<ConvProblem<int64_t>>(kernel.problem);
  if (columns || problem.groups == 1) return conv;
  if (is_depthwise(problem)) {
    const ClassModel& own = context.depthwise();
    const bool alike = context.rates().compute_capability >= kSameMultiprocessorSince;
    return own.fit && alike ? own : conv;
  }
  // From no other architecture than the other convolutions: an H100's say less of a V100's groups
  // than a V100's own products.
  const ClassModel& own = context.grouped(unit);
  const bool known =
      own.fit && conv.fit && own.fit->compute_capability == conv.fit->compute_capability;
  return known ? own : conv;
}

ConvCall call_of(const KernelAt& kernel, const TimeContext& context) {
  ConvCall call{.problem = std::get<ConvProblem<int64_t>>(kernel.problem),
                .shape = shape_of(kernel, context)};
  if (!calls_each_group(call.problem, context.options())) return call;
  call.calls = call.shape.groups;
  call.problem.c /= call.problem.groups;
  call.problem.k /= call.problem.groups;
  call.problem.groups = 1;
  call.shape.c /= call.shape.groups;
  call.shape.k /= call.shape.groups;
  call.shape.groups = 1;
  return call;
}

}  // namespace plimsoll
