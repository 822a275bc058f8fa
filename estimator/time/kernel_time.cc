#include "estimator/time/kernel_time.h"

#include <algorithm>
#include <cmath>

#include "estimator/time/attention.h"
#include "estimator/time/batch_norm.h"
#include "estimator/time/correction.h"
#include "estimator/time/features.h"
#include "estimator/time/time_model.h"
#include "estimator/time/unrolled.h"
#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

// In a queue the next launch is prepared while a kernel runs: what is left of the launch, from
// steps against back-to-back kernels (Torch7 on Maxwell and Pascal, cnn-benchmarks).
constexpr double kLaunchShareInQueue = .4;
// ... and at most this much: the rest was the benchmark's own host call.
constexpr double kLongestLaunchInQueue = 6e-6;
// ... of memory-bound kernels, whose calls of 25-60 us were a framework's (NeuSight).
constexpr double kRowsLaunchInQueue = 4e-6;
// Bandwidth of cuDNN's nchwToNhwc and nhwcToNchw kernels; assumed, as of other copies.
constexpr double kTurnBandwidth = .7;
// Tensor cores take channels in eights; from this version on the library pads them (cuDNN release
// notes 7.3). Before it weight gradients took as long as on ordinary cores: with 7.0 the backward
// passes of ResNet-152, DenseNet-161 and VGG-16 on V100, TITAN V and RTX 2080 Ti
// (u39kun/deep-learning-benchmark), which are 1.2 to 1.5 times shorter with 7.4.
constexpr int kAllOnTensorCores = 703;
// Bandwidth the memory system gives to fused attention; assumed.
constexpr double kAttentionBandwidth = .8;

constexpr std::array<std::string_view, kGemmTileCount> kTileNames = {
    "128x128", "128x64", "64x128", "64x64", "128x32", "32x128", "32x32", "64x16", "16x64"};

double element_bytes(const KernelAt& kernel) { return std::max(bits(kernel.dtype), 8) / 8.0; }

// A time before law and range: what a class's model says.
struct Draft {
  double seconds = 0;
  double flop = 0, bytes = 0, workspace = 0;
  double turned = 0;  // seconds of changing the layout, beside the rest
  std::string_view algorithm{};
  bool memory_bound = false;
  bool in_situ = false;  // the time is that inside a step
  int64_t launches = 1;
  Corrected corrected{};
};

// A matrix times so few vectors is read once: libraries have kernels of their own for it, or split
// k. Recurrent layers of 1, 2 and 4 sequences take the same time for a step, at 0.7 of the
// bandwidth (DeepBench, inference, on three Pascal cards), products with 8 rows up to 0.6 and 0.8
// (DeepBench); AlexNet's steps grow from 1 image to 8 by what its convolutions take, on all cards
// but Kepler's and in every framework of nicklhy/DLInfBench and apache/mxnet docs/faq/perf.md.
constexpr int64_t kThin = 8;
constexpr int kThinSince = 50;  // compute capability
// ... unless k is so long: the first linear layer of VGG (25088) costs 2 to 3 ms more for 2 images
// than for one on all cards of DLInfBench, AlexNet's (9216) nothing. Between them lies what 48 KiB
// of shared memory hold of a vector in 32 bits.
constexpr int64_t kLongestThin = 12288;

bool is_thin(const GemmProblem<int64_t>& p, const DeviceRates& rates) {
  const int64_t vectors = std::min(p.m, p.n);
  const bool few = vectors <= kThin && p.k <= kLongestThin;
  return p.batch == 1 && (vectors == 1 || (few && rates.compute_capability >= kThinSince));
}

Draft draft_thin_product(const KernelAt& kernel, const TimeContext::Model& model,
                         const TimeContext& context) {
  const double bytes = static_cast<double>(kernel.read) + static_cast<double>(kernel.written);
  const double sustained = context.rates().bandwidth * context.rows().fit->terms[kRowsBandwidth];
  return {.seconds = model.fixed + bytes / sustained,
          .flop = static_cast<double>(kernel.flop),
          .bytes = bytes,
          .memory_bound = true};
}

Draft draft_gemm(const KernelAt& kernel, const TimeContext::Model& model,
                 const TimeContext& context) {
  const auto& p = std::get<GemmProblem<int64_t>>(kernel.problem);
  if (is_thin(p, context.rates()) && context.rows().fit) {
    return draft_thin_product(kernel, model, context);
  }
  const GemmShape shape{.m = static_cast<double>(p.m),
                        .n = static_cast<double>(p.n),
                        .k = static_cast<double>(p.k),
                        .batch = static_cast<double>(p.batch),
                        .a_t = p.a_t,
                        .b_t = p.b_t,
                        .accumulate = p.accumulate,
                        .element_bytes = element_bytes(kernel)};
  const GemmCost cost = model.gemm->cost(shape);
  Draft draft{.seconds = cost.seconds,
              .flop = cost.flop,
              .bytes = cost.bytes,
              .algorithm = kTileNames[static_cast<size_t>(cost.tile)],
              .memory_bound = cost.memory_seconds > cost.compute_seconds};
  if (model.own) {
    draft.corrected = correct(model.fit->correction, gemm_features(shape), model.device);
  }
  return draft;
}

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

// The algorithm the policy ends up with. There is always one: implicit GEMM needs no workspace.
ConvCost choose(const ConvCosts& costs, const TimeOptions& options) {
  const ConvCost* best = nullptr;
  for (const ConvCost& cost : costs.all()) {
    if (options.policy == AlgorithmPolicy::kForced && is_forced(cost.algorithm, options.forced)) {
      ConvCost forced = cost;
      forced.algorithm = options.forced;
      return forced;
    }
    if (options.policy == AlgorithmPolicy::kDeterministic && !multiplies(cost.algorithm)) continue;
    if (options.workspace_limit && cost.workspace > static_cast<double>(*options.workspace_limit)) {
      continue;
    }
    if (best == nullptr || cost.seconds < best->seconds) best = &cost;
  }
  return best != nullptr ? *best : costs.rows[0];
}

bool on_tensor_cores(Arithmetic a) {
  return a == Arithmetic::kF16Tensor || a == Arithmetic::kBf16Tensor ||
         a == Arithmetic::kTf32Tensor;
}

// The unit that multiplies `kernel`.
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

// Seconds of turning operands and result of a convolution around.
double turned_around(const KernelAt& kernel, const ConvShape& s, const TimeContext& context) {
  const Layout layout = context.options().layout;
  const Layout wanted =
      on_tensor_cores(unit_of(kernel, context)) ? Layout::kChannelsLast : Layout::kChannelsFirst;
  if (layout == Layout::kNative || layout == wanted) return 0;
  // With channels last a filter of one tap is a plain product.
  const bool one = s.filter[0] * s.filter[1] * s.filter[2] * s.stride[1] * s.stride[2] == 1;
  if (layout == Layout::kChannelsLast && one) return 0;
  const double in = s.n * s.c * s.in[0] * s.in[1] * s.in[2];
  const double out = s.n * s.k * s.out[0] * s.out[1] * s.out[2];
  return 2 * (in + out) * s.element_bytes / (kTurnBandwidth * context.rates().bandwidth);
}

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

Draft draft_conv(const KernelAt& kernel, const TimeContext::Model& model,
                 const TimeContext& context) {
  const TimeOptions& options = context.options();
  const bool columns = options.policy == AlgorithmPolicy::kIm2col;
  const ConvShape whole = shape_of(kernel, context);
  const bool by_group = calls_each_group(whole, options);
  const ConvShape shape = by_group ? one_group(whole) : whole;
  const double calls = by_group ? whole.groups : 1;
  const ConvCost chosen =
      columns ? im2col(kernel, shape, context) : choose(model.conv->costs(shape), options);
  const double next = std::max(0.0, chosen.seconds - model.fixed) + kLongestLaunchInQueue;
  Draft draft{.seconds = chosen.seconds + (calls - 1) * next,
              .flop = calls * chosen.flop,
              .bytes = calls * chosen.bytes,
              .workspace = chosen.workspace,
              .turned = turned_around(kernel, whole, context),
              .algorithm = name(chosen.algorithm),
              .memory_bound = chosen.memory_bound,
              .in_situ = columns,
              .launches = columns ? 0 : static_cast<int64_t>(calls)};  // kIm2colCall holds columns'
  if (model.own && !columns) {
    draft.corrected = correct(model.fit->correction, conv_features(shape), model.device);
  }
  return draft;
}

Draft draft_recurrent(const KernelAt& kernel, const TimeContext::Model& model) {
  const auto& p = std::get<RecurrentProblem<int64_t>>(kernel.problem);
  const RecurrentCost cost = model.recurrent->cost(p, kernel.pass, element_bytes(kernel));
  Draft draft{.seconds = cost.seconds,
              .flop = cost.flop,
              .bytes = cost.bytes,
              .memory_bound = cost.memory_bound};
  if (model.own) {
    draft.corrected =
        correct(model.fit->correction, recurrent_features(p, kernel.pass), model.device);
  }
  return draft;
}

Draft draft_attention(const KernelAt& kernel, const TimeContext::Model& gemm,
                      const TimeContext& context) {
  const auto& p = std::get<AttentionProblem<int64_t>>(kernel.problem);
  const AttentionCost cost = attention_cost(p, kernel.pass, element_bytes(kernel), gemm.flops,
                                            context.rates().bandwidth * kAttentionBandwidth);
  return {.seconds = cost.seconds + gemm.fixed,
          .flop = cost.flop,
          .bytes = cost.bytes,
          .memory_bound = cost.memory_bound};
}

double compulsory(const KernelAt& kernel) {
  return static_cast<double>(kernel.read) + static_cast<double>(kernel.written);
}

bool is_separate_norm(const KernelAt& kernel, const TimeContext& context) {
  return context.options().separate_batch_norm && is_batch_norm(kernel);
}

// Several kernels, one after the other, of the traffic of copies.
Draft draft_separate_norm(const KernelAt& kernel, const TimeContext& context) {
  const SeparateNorm norm = separate_norm(kernel);
  return {.seconds = static_cast<double>(norm.calls) * kRowsLaunchInQueue +
                     norm.bytes / (kTurnBandwidth * context.rates().bandwidth),
          .flop = static_cast<double>(kernel.flop),
          .bytes = norm.bytes,
          .memory_bound = true,
          .launches = norm.calls};
}

bool is_persistent_norm(const KernelAt& kernel, const TimeContext& context) {
  return context.options().persistent_norm && kernel.op == "batch_norm" &&
         kernel.dtype != DType::kFloat64 &&
         context.rates().compute_capability >= kPersistentNormSince;
}

Draft draft_persistent_norm(const KernelAt& kernel, const TimeContext::Model& model,
                            const TimeContext& context) {
  const double seconds = persistent_norm_seconds(kernel, context.rates().bandwidth);
  return {.seconds = model.fixed + seconds,
          .flop = static_cast<double>(kernel.flop),
          .bytes = seconds * context.rates().bandwidth,
          .memory_bound = true};
}

// How much longer than the library's a framework's own kernel takes.
double own_kernel(const KernelAt& kernel, const TimeOptions& options) {
  if (kernel.op == "concat") return options.concat_factor;
  if (kernel.op == "max_pool" && kernel.pass != Pass::kForward) return options.max_pool_backward;
  if (kernel.pass != Pass::kForward) return 1;
  if (kernel.op == "bias") return options.bias_factor;
  if (kernel.op == "relu") return options.relu_factor;
  return is_batch_norm(kernel) ? options.norm_factor : 1;
}

Draft draft_rows(const KernelAt& kernel, const TimeContext::Model& model,
                 const TimeOptions& options) {
  const double bytes = compulsory(kernel), own = own_kernel(kernel, options);
  return {.seconds = model.rows->seconds(kernel) * own,
          .flop = static_cast<double>(kernel.flop),
          .bytes = bytes * model.rows->traffic_factor(kernel) * own,
          .memory_bound = true};
}

// A memory-bound fit's range is that of element-wise work in the main. Softmax and layer norm stray
// further from their traffic: 90 of 100 within so many times it (NeuSight, calls above 0.15 ms on
// P100, P4 and V100: 113 and 130).
constexpr double kSoftmaxStrays = 2.6, kLayerNormStrays = 1.3;

double strays(const KernelAt& kernel) {
  if (kernel.kernel_class == KernelClass::kSoftmax) return kSoftmaxStrays;
  return kernel.op == "layer_norm" ? kLayerNormStrays : 1;
}

const TimeContext::Model& model_for(const KernelAt& kernel, const TimeContext& context) {
  const Arithmetic arithmetic = unit_of(kernel, context);
  if (std::holds_alternative<GemmProblem<int64_t>>(kernel.problem)) return context.gemm(arithmetic);
  if (std::holds_alternative<ConvProblem<int64_t>>(kernel.problem)) return context.conv(arithmetic);
  if (std::holds_alternative<RecurrentProblem<int64_t>>(kernel.problem)) {
    return context.recurrent(arithmetic);
  }
  if (std::holds_alternative<AttentionProblem<int64_t>>(kernel.problem)) {
    return context.gemm(arithmetic);
  }
  return context.rows();
}

Draft draft_of(const KernelAt& kernel, const TimeContext::Model& model,
               const TimeContext& context) {
  if (std::holds_alternative<AttentionProblem<int64_t>>(kernel.problem)) {
    return draft_attention(kernel, model, context);
  }
  if (model.gemm) return draft_gemm(kernel, model, context);
  if (model.conv) return draft_conv(kernel, model, context);
  if (model.recurrent) return draft_recurrent(kernel, model);
  if (is_separate_norm(kernel, context)) return draft_separate_norm(kernel, context);
  if (is_persistent_norm(kernel, context)) return draft_persistent_norm(kernel, model, context);
  if (model.rows) return draft_rows(kernel, model, context.options());
  return {.flop = static_cast<double>(kernel.flop), .bytes = compulsory(kernel)};
}

}  // namespace

std::string_view name(BoundBy bound_by) {
  constexpr std::array<std::string_view, 4> kNames = {"compute", "dram", "latency", "host"};
  return kNames[static_cast<size_t>(bound_by)];
}

bool is_unrolled(const KernelAt& kernel) {
  const auto* p = std::get_if<RecurrentProblem<int64_t>>(&kernel.problem);
  return p != nullptr && p->unrolled.has_value();
}

KernelTime kernel_time(const KernelAt& kernel, const TimeContext& context) {
  if (is_unrolled(kernel)) return unrolled_time(kernel, context);
  const TimeContext::Model& model = model_for(kernel, context);
  const Draft draft = draft_of(kernel, model, context);
  const double longest = model.rows ? kRowsLaunchInQueue : kLongestLaunchInQueue;
  const double launch =
      context.options().alone ? model.fixed : std::min(model.fixed * kLaunchShareInQueue, longest);
  const double work = std::max(0.0, draft.seconds - model.fixed);
  const bool as_drafted = context.options().alone || !model.fit || draft.in_situ;
  const double in_situ = as_drafted ? 1 : model.fit->in_situ;
  const double predicted =
      (work + launch) * std::exp(draft.corrected.log_factor) * in_situ + draft.turned;
  const double compute_floor = model.highest_flops > 0 ? draft.flop / model.highest_flops : 0;
  const double memory_floor =
      context.rates().bandwidth > 0 ? compulsory(kernel) / context.rates().bandwidth : 0;
  const double floor = std::max(compute_floor, memory_floor);

  KernelTime time;
  time.seconds = std::max(predicted, floor);
  time.algorithm = draft.algorithm;
  time.flop = draft.flop;
  time.bytes = draft.bytes;
  time.workspace = draft.workspace;
  time.basis = model.basis;
  time.launches = draft.launches;
  const double range =
      (model.far90 + (model.near90 - model.far90) * draft.corrected.support) * strays(kernel);
  time.low = std::max(time.seconds * std::exp(-range), floor);
  time.high = time.seconds * std::exp(range);
  const bool by_memory = draft.memory_bound || (predicted < floor && memory_floor > compute_floor);
  time.bound_by = launch > work ? BoundBy::kLatency
                  : by_memory   ? BoundBy::kDram
                                : BoundBy::kCompute;
  if (time.seconds > 0) {
    time.fraction_of_peak =
        by_memory ? draft.bytes / context.rates().bandwidth / time.seconds
                  : draft.flop / model.highest_flops * context.rates().maximum_clock / time.seconds;
  }
  return time;
}

bool is_own(const KernelAt& kernel, const TimeContext& context) {
  return model_for(kernel, context).own;
}

std::vector<ConvCost> conv_alternatives(const KernelAt& kernel, const TimeContext& context) {
  const TimeContext::Model& model = model_for(kernel, context);
  if (!model.conv) return {};
  const ConvCosts costs = model.conv->costs(shape_of(kernel, context));
  std::vector<ConvCost> rows(costs.all().begin(), costs.all().end());
  std::ranges::stable_sort(rows, {}, &ConvCost::seconds);
  return rows;
}

}  // namespace plimsoll
