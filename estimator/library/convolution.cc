#include "estimator/library/convolution.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

#include "estimator/kernels/layout_conversion.h"
#include "estimator/library/conv_choice.h"

namespace plimsoll {
namespace {

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
          .compute_seconds = s.n * kIm2colInSitu * cost.compute_seconds,
          .memory_seconds = s.n * kIm2colInSitu * cost.memory_seconds,
          .flop = 2 * s.n * s.k * positions * in,
          .bytes = s.n * (cost.bytes + columns + image),
          .workspace = columns,
          .memory_bound = (columns + image) / bandwidth > cost.seconds};
}

// A data gradient by products is that of indices or of columns, whichever is shorter: no benchmark
// names which of the two it timed, so that neither is known beyond the other.
bool is_forced(ConvAlgorithm algorithm, ConvAlgorithm forced) {
  return algorithm == forced || (is_product(algorithm) && is_product(forced));
}

bool is_allowed(const ConvCost& cost, const TimeOptions& options) {
  if (options.policy == AlgorithmPolicy::kForced) return is_forced(cost.algorithm, options.forced);
  return options.policy != AlgorithmPolicy::kDeterministic || is_product(cost.algorithm) ||
         cost.algorithm == ConvAlgorithm::kDepthwise;
}

// Where nothing says what the library offers: what its algorithms take in theory.
ConvCost choose(const ConvCosts& costs, const TimeOptions& options) {
  std::vector<ConvCost> able;
  std::ranges::copy_if(costs.all(), std::back_inserter(able),
                       [&](const ConvCost& cost) { return is_allowed(cost, options); });
  return preferred(able.empty() ? costs.all() : std::span<const ConvCost>(able));
}

// A network may turn some of its images itself.
Layout layout_of(const KernelAt& kernel, const TimeContext& context) {
  const bool last = std::get<ConvProblem<int64_t>>(kernel.problem).channels_last;
  return last ? Layout::kChannelsLast : context.options().layout;
}

}  // namespace

ConvCost depthwise_cost(const KernelAt& kernel, const ClassModel& model,
                        const TimeContext& context) {
  const ConvShape shape = shape_of(kernel, context);
  const bool last = layout_of(kernel, context) == Layout::kChannelsLast;
  return model.depthwise->cost(shape, depthwise_kernel(shape, kernel.dtype, last));
}

namespace {

KernelPrediction predict_of(const ConvCost& cost) {
  return {.seconds = cost.seconds,
          .compute_seconds = cost.compute_seconds,
          .memory_seconds = cost.memory_seconds,
          .flop = cost.flop,
          .bytes = cost.bytes,
          .algorithm = name(cost.algorithm),
          .memory_bound = cost.memory_bound};
}

}  // namespace

KernelPrediction predict_depthwise(const KernelAt& kernel, const ClassModel& model,
                                   const TimeContext& context) {
  return predict_of(depthwise_cost(kernel, model, context));
}

ConvCost grouped_cost(const KernelAt& kernel, const ClassModel& model, const TimeContext& context) {
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

KernelPrediction predict_grouped(const KernelAt& kernel, const ClassModel& model,
                                 const TimeContext& context) {
  return predict_of(grouped_cost(kernel, model, context));
}

namespace {

// Image by image, without a library.
KernelPrediction predict_columns(const KernelAt& kernel, const ConvShape& shape,
                                 const TimeContext& context) {
  KernelPrediction prediction = predict_of(im2col(kernel, shape, context));
  prediction.in_situ = true;
  prediction.launches = 0;  // kIm2colCall holds them
  return prediction;
}

// Of what the library offers, or of what there is in theory.
ConvCost library_cost(const KernelAt& kernel, const ConvCall& call, const ClassModel& model,
                      const TimeContext& context) {
  const TimeOptions& options = context.options();
  const bool forced = options.policy == AlgorithmPolicy::kForced;
  std::optional<ConvCost> cost;
  if (context.offers() != nullptr) {
    if (const auto choice = choose_convolution(kernel, context)) cost = choice->cost;
  }
  if (!cost) cost = choose(model.conv->costs(call.shape, forced ? kNoLimit : kWorthALook), options);
  if (forced && is_forced(cost->algorithm, options.forced)) cost->algorithm = options.forced;
  return *cost;
}

KernelPrediction predict_calls(const ConvCost& chosen, const ConvCall& call,
                               const ClassModel& model) {
  const double next = std::max(0.0, chosen.seconds - model.fixed) + kLongestLaunchInQueue;
  KernelPrediction prediction = predict_of(chosen);
  prediction.seconds += (call.calls - 1) * next;
  prediction.compute_seconds *= call.calls;
  prediction.memory_seconds *= call.calls;
  prediction.flop *= call.calls;
  prediction.bytes *= call.calls;
  prediction.workspace = chosen.workspace;
  prediction.launches = static_cast<int64_t>(call.calls);
  return prediction;
}

KernelPrediction with_layout(KernelPrediction prediction, const KernelAt& kernel,
                             const TimeContext& context) {
  prediction.layout_conversion = layout_conversion_seconds(
      shape_of(kernel, context), layout_of(kernel, context),
      on_tensor_cores(unit_of(kernel, context)), context.options().library.cudnn, context.rates());
  return prediction;
}

}  // namespace

KernelPrediction predict_by(const ConvCost& algorithm, const KernelAt& kernel,
                            const ClassModel& model, const TimeContext& context) {
  if (!model.conv) return predict_of(algorithm);
  return with_layout(predict_calls(algorithm, call_of(kernel, context), model), kernel, context);
}

KernelPrediction predict_convolution(const KernelAt& kernel, const ClassModel& model,
                                     const TimeContext& context) {
  const TimeOptions& options = context.options();
  const bool columns = options.policy == AlgorithmPolicy::kIm2col ||
                       (kernel.dtype == DType::kBFloat16 &&
                        context.rates().compute_capability < options.bf16_library_since);
  const ConvCall call = call_of(kernel, context);
  if (columns) return with_layout(predict_columns(kernel, call.shape, context), kernel, context);
  return predict_by(library_cost(kernel, call, model, context), kernel, model, context);
}

}  // namespace plimsoll
