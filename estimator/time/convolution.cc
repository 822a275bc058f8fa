#include "estimator/time/convolution.h"

#include <algorithm>
#include <cmath>

#include "estimator/time/conv_choice.h"
#include "estimator/time/turning.h"

namespace plimsoll {
namespace {

// Tensor cores take channels in eights; from this version on the library pads them (cuDNN release
// notes 7.3). Before it weight gradients took as long as on ordinary cores: with 7.0 the backward
// passes of ResNet-152, DenseNet-161 and VGG-16 on V100, TITAN V and RTX 2080 Ti
// (u39kun/deep-learning-benchmark), which are 1.2 to 1.5 times shorter with 7.4.
constexpr int kAllOnTensorCores = 703;

// Columns, product and bias of one image are called one after the other by the framework's loop: so
// much for an image and pass, whatever its size, and so much of the work alone (rejunity and
// jcjohnson/cnn-benchmarks, torch.nn: VGG, ResNets and GoogLeNet on V100 agree on both).
constexpr double kIm2colCall = 33e-6, kIm2colInSitu = 1.13;

// Columns in memory, image by image: the framework's own forward, and the plain GEMM library.
ConvCost im2col(const KernelAt& kernel, const ConvShape& s, const TimeContext& context) {
  const auto& gemm = context.gemm(arithmetic_on(context.rates(), kernel.dtype, kernel.tensor_core));
  const double positions = s.out[0] * s.out[1] * s.out[2];
  const double taps = s.filter[0] * s.filter[1] * s.filter[2];
  const double in = s.c / s.groups * taps, out = s.k / s.groups;
  GemmShape g{.batch = s.groups, .element_bytes = s.element_bytes};
  g.n = s.pass == Pass::kBackwardWeights ? in : positions;
  g.m = s.pass == Pass::kBackwardData ? in : out;
  g.k = s.pass == Pass::kForward ? in : s.pass == Pass::kBackwardData ? out : positions;
  const double columns = s.c * taps * positions * s.element_bytes;
  const double image = s.c * s.in[0] * s.in[1] * s.in[2] * s.element_bytes;
  const double bandwidth = context.rates().bandwidth * .7;
  GemmCost cost = gemm.gemm ? gemm.gemm->cost(g) : GemmCost{};
  cost.seconds = std::max(0.0, cost.seconds - gemm.fixed);
  return {.algorithm = ConvAlgorithm::kIm2col,
          .seconds =
              s.n * (kIm2colInSitu * (cost.seconds + (columns + image) / bandwidth) + kIm2colCall),
          .flop = 2 * s.n * s.k * positions * in,
          .bytes = s.n * (cost.bytes + columns + image),
          .workspace = columns,
          .memory_bound = (columns + image) / bandwidth > cost.seconds};
}

bool multiplies(ConvAlgorithm a) {
  return a == ConvAlgorithm::kImplicitGemm || a == ConvAlgorithm::kPrecomputedGemm ||
         a == ConvAlgorithm::kDepthwise;
}

// Implicit GEMM is priced once, with offsets computed ahead or not.
bool is_forced(ConvAlgorithm algorithm, ConvAlgorithm forced) {
  const auto implicit = [](ConvAlgorithm a) {
    return a == ConvAlgorithm::kImplicitGemm || a == ConvAlgorithm::kPrecomputedGemm;
  };
  return algorithm == forced || (implicit(algorithm) && implicit(forced));
}

bool allowed(const ConvCost& cost, const TimeOptions& options) {
  const bool repeats =
      options.policy != AlgorithmPolicy::kDeterministic || multiplies(cost.algorithm);
  return repeats && (!options.workspace_limit ||
                     cost.workspace <= static_cast<double>(*options.workspace_limit));
}

// Where nothing says what the library offers: what its algorithms take in theory. There is always
// one, for implicit GEMM needs no workspace.
ConvCost choose(const ConvCosts& costs, const TimeOptions& options) {
  ConvCosts able;
  for (const ConvCost& cost : costs.all()) {
    if (options.policy == AlgorithmPolicy::kForced && is_forced(cost.algorithm, options.forced)) {
      ConvCost chosen = cost;
      chosen.algorithm = options.forced;
      return chosen;
    }
    if (allowed(cost, options)) able.rows[static_cast<size_t>(able.count++)] = cost;
  }
  return able.count > 0 ? preferred(able) : costs.rows[0];
}

// Beyond this times implicit GEMM's no algorithm is chosen where the shortest is.
constexpr double kWorthALook = 1.03;

}  // namespace

Arithmetic unit_of(const KernelAt& kernel, const TimeContext& context) {
  const Arithmetic unit = arithmetic_on(context.rates(), kernel.dtype, kernel.tensor_core);
  const auto* conv = std::get_if<ConvProblem<int64_t>>(&kernel.problem);
  const TimeOptions& options = context.options();
  if (!conv || !on_tensor_cores(unit) || options.layout == Layout::kNative) return unit;
  const bool eights = conv->c / conv->groups % 8 == 0 && conv->k / conv->groups % 8 == 0;
  if (options.library.cudnn == 0 || options.library.cudnn >= kAllOnTensorCores) return unit;
  return eights && kernel.pass != Pass::kBackwardWeights ? unit : Arithmetic::kF32;
}

ConvShape shape_of(const KernelAt& kernel, const TimeContext& context) {
  const double bytes = element_bytes(kernel);
  const bool in_f32 = unit_of(kernel, context) == Arithmetic::kF32;
  const auto& problem = std::get<ConvProblem<int64_t>>(kernel.problem);
  return conv_shape(problem, kernel.pass, bytes, in_f32 ? std::max(4.0, bytes) : bytes);
}

namespace {

// cuDNN knows groups since 7 (release notes: cudnnSetConvolutionGroupCount); before, frameworks
// called it for one group after the other (caffe2/operators/conv_op_cudnn.cc: for i < group_), but
// for depthwise layers, which have kernels of their own.
constexpr int kGroupsSince = 700;

bool calls_each_group(const ConvProblem<int64_t>& p, const TimeOptions& options) {
  const int cudnn = options.library.cudnn;
  return options.policy != AlgorithmPolicy::kIm2col && cudnn > 0 && cudnn < kGroupsSince &&
         p.groups > 1 && p.c > p.groups;
}

// A network may turn some of its images itself.
Layout layout_of(const KernelAt& kernel, const TimeContext& context) {
  const bool last = std::get<ConvProblem<int64_t>>(kernel.problem).channels_last;
  return last ? Layout::kChannelsLast : context.options().layout;
}

}  // namespace

namespace {

// Depthwise terms are clocks of a multiprocessor, which has been much the same since Volta: four
// parts with a scheduler and 16 lanes of 32 bits each, or more (CUDA C++ Programming Guide,
// Compute Capability 7.x to 9.0); before, parts of 32 lanes or of two schedulers.
constexpr int kSameMultiprocessorSince = 70;

// Such channels no network has but for its image; libraries have other kernels for them.
bool is_odd(const ConvProblem<int64_t>& p) {
  const int64_t in = p.c / p.groups, out = p.k / p.groups;
  return (in > 4 && in % 4 != 0) || out % 4 != 0;
}

}  // namespace

const TimeContext::Model& convolution_model(const KernelAt& kernel, const TimeContext& context) {
  const Arithmetic unit = unit_of(kernel, context);
  const bool odd = is_odd(std::get<ConvProblem<int64_t>>(kernel.problem));
  const TimeContext::Model& conv = odd ? context.odd_conv(unit) : context.conv(unit);
  const bool columns = context.options().policy == AlgorithmPolicy::kIm2col;
  const auto& problem = std::get<ConvProblem<int64_t>>(kernel.problem);
  if (columns || problem.groups == 1) return conv;
  if (is_depthwise(problem)) {
    const TimeContext::Model& own = context.depthwise();
    const bool alike = context.rates().compute_capability >= kSameMultiprocessorSince;
    return own.fit && alike ? own : conv;
  }
  // From no other architecture than the other convolutions: an H100's say less of a V100's groups
  // than a V100's own products.
  const TimeContext::Model& own = context.grouped(unit);
  const bool known =
      own.fit && conv.fit && own.fit->compute_capability == conv.fit->compute_capability;
  return known ? own : conv;
}

ConvCost depthwise_cost(const KernelAt& kernel, const TimeContext::Model& model,
                        const TimeContext& context) {
  const ConvShape shape = shape_of(kernel, context);
  const bool last = layout_of(kernel, context) == Layout::kChannelsLast;
  return model.depthwise->cost(shape, depthwise_kernel(shape, kernel.dtype, last));
}

namespace {

Draft draft_of(const ConvCost& cost) {
  return {.seconds = cost.seconds,
          .flop = cost.flop,
          .bytes = cost.bytes,
          .algorithm = name(cost.algorithm),
          .memory_bound = cost.memory_bound};
}

}  // namespace

Draft draft_depthwise(const KernelAt& kernel, const TimeContext::Model& model,
                      const TimeContext& context) {
  return draft_of(depthwise_cost(kernel, model, context));
}

ConvCost grouped_cost(const KernelAt& kernel, const TimeContext::Model& model,
                      const TimeContext& context) {
  const AlgorithmPolicy policy = context.options().policy;
  const bool guessed =
      policy == AlgorithmPolicy::kHeuristic || policy == AlgorithmPolicy::kGuessOnce;
  const GroupedAnswers* answers = guessed && model.answers ? &*model.answers : nullptr;
  const bool last = layout_of(kernel, context) == Layout::kChannelsLast;
  const ConvShape shape = shape_of(kernel, context);
  const Arithmetic unit = unit_of(kernel, context);
  const auto& problem = std::get<ConvProblem<int64_t>>(kernel.problem);
  return model.grouped->cost(shape, unit, grouped_kernel(problem, shape, unit, answers), last);
}

Draft draft_grouped(const KernelAt& kernel, const TimeContext::Model& model,
                    const TimeContext& context) {
  return draft_of(grouped_cost(kernel, model, context));
}

namespace {

// Image by image, without a library.
Draft draft_columns(const KernelAt& kernel, const ConvShape& shape, const TimeContext& context) {
  Draft draft = draft_of(im2col(kernel, shape, context));
  draft.in_situ = true;
  draft.launches = 0;  // kIm2colCall holds them
  return draft;
}

// Of what the library offers, or of what there is in theory.
ConvCost library_cost(const KernelAt& kernel, const ConvCall& call, const TimeContext::Model& model,
                      const TimeContext& context) {
  const TimeOptions& options = context.options();
  if (context.offers() != nullptr) {
    if (auto offered = offered_cost(kernel, call, *model.conv, context)) {
      const bool forced = options.policy == AlgorithmPolicy::kForced;
      if (forced && is_forced(offered->algorithm, options.forced))
        offered->algorithm = options.forced;
      return *offered;
    }
  }
  const double limit = options.policy == AlgorithmPolicy::kForced ? kNoLimit : kWorthALook;
  return choose(model.conv->costs(call.shape, limit), options);
}

Draft draft_library(const KernelAt& kernel, const ConvCall& call, const TimeContext::Model& model,
                    const TimeContext& context) {
  const ConvCost chosen = library_cost(kernel, call, model, context);
  const double next = std::max(0.0, chosen.seconds - model.fixed) + kLongestLaunchInQueue;
  Draft draft = draft_of(chosen);
  draft.seconds += (call.calls - 1) * next;
  draft.flop *= call.calls;
  draft.bytes *= call.calls;
  draft.workspace = chosen.workspace;
  draft.launches = static_cast<int64_t>(call.calls);
  return draft;
}

}  // namespace

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

Draft draft_convolution(const KernelAt& kernel, const TimeContext::Model& model,
                        const TimeContext& context) {
  const TimeOptions& options = context.options();
  const bool columns = options.policy == AlgorithmPolicy::kIm2col ||
                       (kernel.dtype == DType::kBFloat16 &&
                        context.rates().compute_capability < options.bf16_library_since);
  const ConvCall call = call_of(kernel, context);
  Draft draft = columns ? draft_columns(kernel, call.shape, context)
                        : draft_library(kernel, call, model, context);
  draft.turned = turning_seconds(shape_of(kernel, context), layout_of(kernel, context),
                                 on_tensor_cores(unit_of(kernel, context)), options.library.cudnn,
                                 context.rates());
  return draft;
}

}  // namespace plimsoll
