#include "estimator/time/convolution.h"

#include <algorithm>
#include <cmath>

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

// Of times this close the model cannot tell the shorter one. Right most often is then the algorithm
// that comes first: 510 of the 581 forward convolutions whose algorithm DeepBench names, rather
// than 503. Width and order were chosen on these.
constexpr double kTie = 1.025;

bool allowed(const ConvCost& cost, const TimeOptions& options) {
  const bool repeats =
      options.policy != AlgorithmPolicy::kDeterministic || multiplies(cost.algorithm);
  return repeats && (!options.workspace_limit ||
                     cost.workspace <= static_cast<double>(*options.workspace_limit));
}

// Beyond this times implicit GEMM's no algorithm is chosen, unless it is asked for by name.
constexpr double kWorthALook = 1.001 * kTie;

// What the policy ends up with: an algorithm's cost, by another's name or with another's time.
// There is always one: implicit GEMM needs no workspace.
ConvCost choose(const ConvCosts& costs, const TimeOptions& options) {
  const ConvCost* fastest = &costs.rows[0];
  for (const ConvCost& cost : costs.all()) {
    if (options.policy == AlgorithmPolicy::kForced && is_forced(cost.algorithm, options.forced)) {
      ConvCost chosen = cost;
      chosen.algorithm = options.forced;
      return chosen;
    }
    if (allowed(cost, options) && cost.seconds < fastest->seconds) fastest = &cost;
  }
  for (const ConvCost& cost : costs.all()) {
    if (cost.seconds > kTie * fastest->seconds || !allowed(cost, options)) continue;
    ConvCost chosen = cost;
    chosen.seconds = fastest->seconds;
    return chosen;
  }
  return *fastest;
}

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

bool calls_each_group(const ConvShape& s, const TimeOptions& options) {
  const int cudnn = options.library.cudnn;
  return options.policy != AlgorithmPolicy::kIm2col && cudnn > 0 && cudnn < kGroupsSince &&
         s.groups > 1 && s.c > s.groups;
}

ConvShape one_group(ConvShape s) {
  s.c /= s.groups;
  s.k /= s.groups;
  s.groups = 1;
  return s;
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

// `shape`: of each of `calls`.
Draft draft_library(const ConvShape& shape, double calls, const TimeContext::Model& model,
                    const TimeOptions& options) {
  const double limit = options.policy == AlgorithmPolicy::kForced ? kNoLimit : kWorthALook;
  const ConvCost chosen = choose(model.conv->costs(shape, limit), options);
  const double next = std::max(0.0, chosen.seconds - model.fixed) + kLongestLaunchInQueue;
  Draft draft = draft_of(chosen);
  draft.seconds += (calls - 1) * next;
  draft.flop *= calls;
  draft.bytes *= calls;
  draft.workspace = chosen.workspace;
  draft.launches = static_cast<int64_t>(calls);
  return draft;
}

}  // namespace

Draft draft_convolution(const KernelAt& kernel, const TimeContext::Model& model,
                        const TimeContext& context) {
  const TimeOptions& options = context.options();
  const ConvShape whole = shape_of(kernel, context);
  const bool by_group = calls_each_group(whole, options);
  const ConvShape shape = by_group ? one_group(whole) : whole;
  const bool columns = options.policy == AlgorithmPolicy::kIm2col ||
                       (kernel.dtype == DType::kBFloat16 &&
                        context.rates().compute_capability < options.bf16_library_since);
  Draft draft = columns ? draft_columns(kernel, shape, context)
                        : draft_library(shape, by_group ? whole.groups : 1, model, options);
  draft.turned =
      turning_seconds(whole, layout_of(kernel, context), on_tensor_cores(unit_of(kernel, context)),
                      options.library.cudnn, context.rates());
  return draft;
}

}  // namespace plimsoll
