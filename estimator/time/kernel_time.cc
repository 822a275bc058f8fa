#include "estimator/time/kernel_time.h"

#include <algorithm>
#include <cmath>

#include "estimator/time/attention.h"
#include "estimator/time/batch_norm.h"
#include "estimator/time/convolution.h"
#include "estimator/time/features.h"
#include "estimator/time/kernel_prices.h"
#include "estimator/time/time_model.h"
#include "estimator/time/unrolled.h"
#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

// In a queue the next launch is prepared while a kernel runs: what is left of the launch, from
// steps against back-to-back kernels (Torch7 on Maxwell and Pascal, cnn-benchmarks).
constexpr double kLaunchShareInQueue = .4;
// ... of memory-bound kernels, whose calls of 25-60 us were a framework's (NeuSight).
constexpr double kRowsLaunchInQueue = 4e-6;

constexpr std::array<std::string_view, kGemmTileCount> kTileNames = {
    "128x128", "128x64", "64x128", "64x64", "128x32", "32x128", "32x32", "64x16", "16x64"};

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
                        .element_bytes = element_bytes(kernel),
                        .in_memory = true};
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

Draft draft_recurrent(const KernelAt& kernel, const TimeContext::Model& model) {
  const auto& p = std::get<RecurrentProblem<int64_t>>(kernel.problem);
  const RecurrentCost cost = model.recurrent->cost(p, kernel.pass, element_bytes(kernel));
  Draft draft{.seconds = cost.seconds,
              .flop = cost.flop,
              .bytes = cost.bytes,
              .algorithm = name(RecurrentAlgorithm::kStandard),
              .memory_bound = cost.memory_bound};
  if (model.own) {
    draft.corrected =
        correct(model.fit->correction, recurrent_features(p, kernel.pass), model.device);
  }
  return draft;
}

// The steps in one persistent kernel; `model`: that of the steps.
Draft draft_persistent(const KernelAt& kernel, const TimeContext::Model& model,
                       const TimeContext& context) {
  const auto& p = std::get<RecurrentProblem<int64_t>>(kernel.problem);
  const RecurrentAlgorithm algorithm =
      recurrent_algorithm(kernel, context.options().recurrent, context.rates());
  const double bytes = element_bytes(kernel);
  const RecurrentCost steps = model.persistent->cost(p, algorithm, kernel.pass, bytes);
  Draft draft{.seconds = steps.seconds,
              .flop = steps.flop,
              .bytes = steps.bytes,
              .algorithm = name(algorithm),
              .memory_bound = steps.memory_bound};
  if (const auto& products = context.recurrent(unit_of(kernel, context)).recurrent) {
    const RecurrentCost over_time = products->over_time(p, kernel.pass, bytes);
    draft.seconds += over_time.seconds;
    draft.flop += over_time.flop;
    draft.bytes += over_time.bytes;
  }
  if (model.own) {
    draft.corrected = correct(model.fit->correction, persistent_features(p, algorithm, kernel.pass),
                              model.device);
  }
  return draft;
}

Draft draft_attention(const KernelAt& kernel, const TimeContext::Model& gemm,
                      const TimeContext& context) {
  const auto& p = std::get<AttentionProblem<int64_t>>(kernel.problem);
  // Fused kernels of 32 bits take no TF32, whatever is allowed (PyTorch 2.11 on H100).
  const DeviceRates& card = context.rates();
  const bool whole = kernel.dtype == DType::kFloat32;
  const AttentionRates rates{whole ? card.peak_of(Arithmetic::kF32) : gemm.flops, card.bandwidth,
                             card.compute_capability};
  const AttentionCost cost = attention_cost(p, kernel.pass, element_bytes(kernel), rates);
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

// Several kernels, one after the other, of the traffic of copies and their bandwidth, assumed.
constexpr double kCopyBandwidth = .7;

Draft draft_separate_norm(const KernelAt& kernel, const TimeContext& context) {
  const SeparateNorm norm = separate_norm(kernel);
  return {.seconds = static_cast<double>(norm.calls) * kRowsLaunchInQueue +
                     norm.bytes / (kCopyBandwidth * context.rates().bandwidth),
          .flop = static_cast<double>(kernel.flop),
          .bytes = norm.bytes,
          .memory_bound = true,
          .launches = norm.calls};
}

bool is_persistent_norm(const KernelAt& kernel, const TimeContext& context) {
  const bool measured = context.rows().rows && context.rows().rows->norm_clocks(kernel.pass) > 0;
  return (context.options().persistent_norm || measured) && kernel.op == "batch_norm" &&
         kernel.dtype != DType::kFloat64 &&
         context.rates().compute_capability >= kPersistentNormSince;
}

Draft draft_persistent_norm(const KernelAt& kernel, const TimeContext::Model& model,
                            const TimeContext& context) {
  const bool first = context.options().layout != Layout::kChannelsLast;
  const double clocks = model.rows && first ? model.rows->norm_clocks(kernel.pass) : 0;
  // cuDNN has no norm of bfloat16: PyTorch's own (Normalization.cpp, _select_batch_norm_backend).
  const bool own = model.rows && !first && kernel.dtype == DType::kBFloat16;
  const double known = own ? model.rows->norm_last_seconds(kernel) : 0;
  const double seconds =
      known > 0 ? known : persistent_norm_seconds(kernel, context.rates(), clocks);
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
  const bool by_element = options.layout != Layout::kChannelsLast;
  return {.seconds = model.rows->seconds(kernel, by_element) * own,
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

// Weight gradients are a product over all steps, whatever algorithm made the states.
bool is_persistent(const KernelAt& kernel, const TimeContext& context) {
  return kernel.pass != Pass::kBackwardWeights &&
         recurrent_algorithm(kernel, context.options().recurrent, context.rates()) !=
             RecurrentAlgorithm::kStandard;
}

const TimeContext::Model& model_for(const KernelAt& kernel, const TimeContext& context) {
  const Arithmetic arithmetic = unit_of(kernel, context);
  if (std::holds_alternative<GemmProblem<int64_t>>(kernel.problem)) return context.gemm(arithmetic);
  if (std::holds_alternative<ConvProblem<int64_t>>(kernel.problem)) {
    return convolution_model(kernel, context);
  }
  if (std::holds_alternative<RecurrentProblem<int64_t>>(kernel.problem)) {
    return is_persistent(kernel, context) ? context.persistent(arithmetic)
                                          : context.recurrent(arithmetic);
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
  if (model.conv) return draft_convolution(kernel, model, context);
  if (model.depthwise) return draft_depthwise(kernel, model, context);
  if (model.grouped) return draft_grouped(kernel, model, context);
  if (model.recurrent) return draft_recurrent(kernel, model);
  if (model.persistent) return draft_persistent(kernel, model, context);
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

namespace {

KernelTime price(const KernelAt& kernel, const TimeContext& context) {
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

KernelTime price_and_keep(const KernelAt& kernel, const TimeContext& context) {
  const KernelTime time = price(kernel, context);
  context.prices().keep(kernel, time);
  return time;
}

}  // namespace

KernelTime kernel_time(const KernelAt& kernel, const TimeContext& context) {
  const KernelTime* known = context.prices().find(kernel);
  return known != nullptr ? *known : price_and_keep(kernel, context);
}

std::vector<KernelTime> kernel_times(std::span<const KernelAt* const> kernels,
                                     const TimeContext& context) {
  std::vector<const KernelTime*> known(kernels.size());
  context.prices().find(kernels, known);
  std::vector<KernelTime> times;
  times.reserve(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    times.push_back(known[i] != nullptr ? *known[i] : price_and_keep(*kernels[i], context));
  }
  return times;
}

bool is_own(const KernelAt& kernel, const TimeContext& context) {
  return model_for(kernel, context).own;
}

bool is_at_home(const KernelAt& kernel, const TimeContext& context) {
  const TimeContext::Model& model = model_for(kernel, context);
  return model.own ||
         (model.fit && model.fit->compute_capability == context.rates().compute_capability);
}

std::vector<ConvCost> conv_alternatives(const KernelAt& kernel, const TimeContext& context) {
  const TimeContext::Model& model = model_for(kernel, context);
  if (model.depthwise) return {depthwise_cost(kernel, model, context)};
  if (model.grouped) return {grouped_cost(kernel, model, context)};
  if (!model.conv) return {};
  const ConvCosts costs = model.conv->costs(shape_of(kernel, context));
  std::vector<ConvCost> rows(costs.all().begin(), costs.all().end());
  std::ranges::stable_sort(rows, {}, &ConvCost::seconds);
  return rows;
}

}  // namespace plimsoll
