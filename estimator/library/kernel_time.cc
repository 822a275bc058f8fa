#include "estimator/library/kernel_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimator/kernels/attention.h"
#include "estimator/kernels/batch_norm.h"
#include "estimator/kernels/time_model.h"
#include "estimator/kernels/unrolled.h"
#include "estimator/library/conv_choice.h"
#include "estimator/library/convolution.h"
#include "estimator/library/product.h"
#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

// In a queue the next launch is prepared while a kernel runs: what is left of the launch, from
// steps against back-to-back kernels (Torch7 on Maxwell and Pascal, cnn-benchmarks).
constexpr double kLaunchShareInQueue = .4;
// ... of memory-bound kernels, whose calls of 25-60 us were a framework's (NeuSight).
constexpr double kRowsLaunchInQueue = 4e-6;

KernelPrediction predict_recurrent(const KernelAt& kernel, const ClassModel& model) {
  const auto& p = std::get<RecurrentProblem<int64_t>>(kernel.problem);
  const RecurrentCost cost = model.recurrent->cost(p, kernel.pass, element_bytes(kernel));
  return {.seconds = cost.seconds,
          .compute_seconds = cost.compute_seconds,
          .memory_seconds = cost.memory_seconds,
          .flop = cost.flop,
          .bytes = cost.bytes,
          .algorithm = name(RecurrentAlgorithm::kStandard),
          .memory_bound = cost.memory_bound()};
}

// The steps in one persistent kernel; `model`: that of the steps.
KernelPrediction predict_persistent(const KernelAt& kernel, const ClassModel& model,
                                    const TimeContext& context) {
  const auto& p = std::get<RecurrentProblem<int64_t>>(kernel.problem);
  const RecurrentAlgorithm algorithm =
      recurrent_algorithm(kernel, context.options().recurrent, context.rates());
  const double bytes = element_bytes(kernel);
  const RecurrentCost steps = model.persistent->cost(p, algorithm, kernel.pass, bytes);
  KernelPrediction prediction{.seconds = steps.seconds,
                              .compute_seconds = steps.compute_seconds,
                              .memory_seconds = steps.memory_seconds,
                              .flop = steps.flop,
                              .bytes = steps.bytes,
                              .algorithm = name(algorithm),
                              .memory_bound = steps.memory_bound()};
  if (const auto& products = context.recurrent(unit_of(kernel, context)).recurrent) {
    const RecurrentCost over_time = products->over_time(p, kernel.pass, bytes);
    prediction.seconds += over_time.seconds;
    prediction.compute_seconds += over_time.compute_seconds;
    prediction.memory_seconds += over_time.memory_seconds;
    prediction.flop += over_time.flop;
    prediction.bytes += over_time.bytes;
  }
  return prediction;
}

KernelPrediction predict_attention(const KernelAt& kernel, const ClassModel& gemm,
                                   const TimeContext& context) {
  const auto& p = std::get<AttentionProblem<int64_t>>(kernel.problem);
  // Fused kernels of 32 bits take no TF32, whatever is allowed (PyTorch 2.11 on H100).
  const DeviceRates& card = context.rates();
  const bool whole = kernel.dtype == DType::kFloat32;
  const AttentionRates rates{whole ? card.peak_of(Arithmetic::kF32) : gemm.flops, card.bandwidth,
                             card.compute_capability, context.options().first_flash};
  const AttentionCost cost = attention_cost(p, kernel.pass, element_bytes(kernel), rates);
  return {.seconds = cost.seconds + gemm.fixed,
          .compute_seconds = cost.compute_seconds,
          .memory_seconds = cost.memory_seconds,
          .flop = cost.flop,
          .bytes = cost.bytes,
          .memory_bound = cost.memory_bound()};
}

double compulsory(const KernelAt& kernel) {
  return static_cast<double>(kernel.read) + static_cast<double>(kernel.written);
}

bool is_separate_norm(const KernelAt& kernel, const TimeContext& context) {
  return context.options().separate_batch_norm && is_batch_norm(kernel);
}

// Several kernels, one after the other, of the traffic of copies and their bandwidth, assumed.
constexpr double kCopyBandwidth = .7;

KernelPrediction predict_separate_norm(const KernelAt& kernel, const TimeContext& context) {
  const SeparateNorm norm = separate_norm(kernel);
  return {.seconds = static_cast<double>(norm.calls) * kRowsLaunchInQueue +
                     norm.bytes / (kCopyBandwidth * context.rates().bandwidth),
          .flop = static_cast<double>(kernel.flop),
          .bytes = norm.bytes,
          .memory_bound = true,
          .launches = norm.calls};
}

bool is_persistent_norm(const KernelAt& kernel, const TimeContext& context) {
  if (!is(kernel, "batch_norm") || kernel.dtype == DType::kFloat64 ||
      context.rates().compute_capability < kPersistentNormSince) {
    return false;
  }
  const auto& rows = context.rows().rows;
  return context.options().persistent_norm || (rows && rows->norm_clocks(kernel.pass) > 0);
}

KernelPrediction predict_persistent_norm(const KernelAt& kernel, const ClassModel& model,
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
  if (is(kernel, "concat_channels")) return options.concat_factor;
  if (is(kernel, "max_pool") && kernel.pass != Pass::kForward) return options.max_pool_backward;
  if (kernel.pass != Pass::kForward) return 1;
  if (is(kernel, "bias")) return options.bias_factor;
  if (is(kernel, "relu")) return options.relu_factor;
  return is_batch_norm(kernel) ? options.norm_factor : 1;
}

KernelPrediction predict_rows(const KernelAt& kernel, const ClassModel& model,
                              const TimeOptions& options) {
  const MemoryBoundCost cost = model.rows->cost(kernel, options.layout != Layout::kChannelsLast);
  const double own = own_kernel(kernel, options);
  // A norm's image is converted to the library's layout and back.
  const bool turns = is_batch_norm(kernel) && own > 1;
  return {.seconds = cost.seconds * own,
          .flop = static_cast<double>(kernel.flop),
          .bytes = cost.bytes * own,
          .converted = turns ? cost.seconds * (own - 1) : 0,
          .memory_bound = true};
}

// A memory-bound fit's range is that of element-wise work in the main. Softmax and layer norm stray
// further from their traffic: 90 of 100 within so many times it (NeuSight, calls above 0.15 ms on
// P100, P4 and V100: 113 and 130).
constexpr double kSoftmaxRange = 2.6, kLayerNormRange = 1.3;

double range_factor(const KernelAt& kernel) {
  if (kernel.kernel_class == KernelClass::kSoftmax) return kSoftmaxRange;
  const bool layer_norm = kernel.kernel_class == KernelClass::kNorm && is(kernel, "layer_norm");
  return layer_norm ? kLayerNormRange : 1;
}

// Weight gradients are a product over all steps, whatever algorithm made the states.
bool is_persistent(const KernelAt& kernel, const TimeContext& context) {
  return kernel.pass != Pass::kBackwardWeights &&
         recurrent_algorithm(kernel, context.options().recurrent, context.rates()) !=
             RecurrentAlgorithm::kStandard;
}

const ClassModel& model_for(const KernelAt& kernel, const TimeContext& context) {
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

KernelPrediction predict_of(const KernelAt& kernel, const ClassModel& model,
                            const TimeContext& context) {
  if (std::holds_alternative<AttentionProblem<int64_t>>(kernel.problem)) {
    return predict_attention(kernel, model, context);
  }
  if (std::holds_alternative<GemmProblem<int64_t>>(kernel.problem) && model.gemm) {
    return predict_product(kernel, model, context);
  }
  if (model.conv) return predict_convolution(kernel, model, context);
  if (model.depthwise) return predict_depthwise(kernel, model, context);
  if (model.grouped) return predict_grouped(kernel, model, context);
  if (model.recurrent) return predict_recurrent(kernel, model);
  if (model.persistent) return predict_persistent(kernel, model, context);
  if (is_separate_norm(kernel, context)) return predict_separate_norm(kernel, context);
  if (is_persistent_norm(kernel, context)) return predict_persistent_norm(kernel, model, context);
  if (model.rows) return predict_rows(kernel, model, context.options());
  return {.flop = static_cast<double>(kernel.flop), .bytes = compulsory(kernel)};
}

// Of a rate that is not known no law follows.
double or_endless(double rate) { return rate > 0 ? rate : std::numeric_limits<double>::infinity(); }

// What was measured of such kernels on this very card: of their pass, else of every pass.
const MachineFactor* machine_factor(const ClassModel& model, Pass pass) {
  const MachineFactor* of_all = nullptr;
  for (const MachineFactor& factor : model.machine) {
    if (factor.pass == name(pass)) return &factor;
    if (factor.pass.empty()) of_all = &factor;
  }
  return of_all;
}

KernelTimeChain chain_of(const KernelAt& kernel, const KernelPrediction& prediction,
                         const ClassModel& model, const TimeContext& context) {
  const bool alone = context.options().alone;
  const double longest = model.rows ? kRowsLaunchInQueue : kLongestLaunchInQueue;
  const bool whole = alone || (model.fit && model.fit->queued);
  const MachineFactor* machine = machine_factor(model, kernel.pass);
  return {.work = std::max(0.0, prediction.seconds - model.fixed),
          .launch = whole ? model.fixed : std::min(model.fixed * kLaunchShareInQueue, longest),
          .in_situ = alone || prediction.in_situ || !model.fit ? 1 : model.fit->in_situ,
          .layout = prediction.layout_conversion,
          .machine = machine != nullptr ? machine->factor : 1,
          .traffic = compulsory(kernel) / or_endless(context.rates().bandwidth),
          .operations = prediction.flop / or_endless(model.highest_flops)};
}

// Whose operations are products of matrices and nothing else. A convolution's are so for a part:
// its steps are as long as predicted at the clock that other kernels keep.
bool multiplies(const KernelAt& kernel) {
  return std::holds_alternative<GemmProblem<int64_t>>(kernel.problem) ||
         std::holds_alternative<AttentionProblem<int64_t>>(kernel.problem);
}

double sustained_clock(const KernelTime& time, const DeviceRates& rates) {
  return rates.sustained * (time.on_tensor_cores ? rates.tensor_clock : 1);
}

KernelTime time_of(const KernelAt& kernel, const KernelPrediction& prediction,
                   const ClassModel& model, const TimeContext& context) {
  const KernelTimeChain chain = chain_of(kernel, prediction, model, context);
  const MachineFactor* machine = machine_factor(model, kernel.pass);
  const double bandwidth = or_endless(context.rates().bandwidth);
  const double highest_flops = or_endless(model.highest_flops);
  const bool by_law = chain.predicted() < chain.floor();
  const double longer = chain.in_situ * chain.machine;
  KernelTime time{
      .seconds = chain.seconds(),
      .compute_seconds = by_law ? chain.operations : prediction.compute_seconds * longer,
      .memory_seconds = by_law ? chain.traffic : prediction.memory_seconds * longer,
      .algorithm = prediction.algorithm,
      .flop = prediction.flop,
      .bytes = prediction.bytes,
      .workspace = prediction.workspace,
      .converted = (prediction.converted * chain.in_situ + chain.layout) * chain.machine,
      .basis = model.basis,
      .launches = prediction.launches,
      .on_tensor_cores = multiplies(kernel) && plimsoll::on_tensor_cores(model.arithmetic)};
  const bool is_sharp = machine != nullptr && machine->range90 > 0;
  const double widest =
      std::exp(is_sharp ? machine->range90 : model.range90 * range_factor(kernel));
  time.low = std::max(time.seconds / widest, chain.floor());
  time.high = time.seconds * widest;
  const double slowed = time.compute_seconds / sustained_clock(time, context.rates());
  const bool by_memory =
      (prediction.memory_bound || (by_law && chain.traffic > chain.operations)) &&
      slowed <= time.seconds;
  time.bound_by = chain.launch > chain.work ? BoundBy::kLatency
                  : by_memory               ? BoundBy::kDram
                                            : BoundBy::kCompute;
  const double rate = by_memory ? bandwidth : highest_flops / context.rates().maximum_clock;
  const double at_peak = rate * time.seconds;
  time.fraction_of_peak =
      at_peak > 0 ? (by_memory ? prediction.bytes : prediction.flop) / at_peak : 0;
  return time;
}

// The kernels of an unrolled layer, with their ranges, added up.
KernelTime unrolled_time(const KernelAt& kernel, const TimeContext& context) {
  KernelTime sum{.algorithm = "unrolled", .launches = 0};
  double most = 0, peak = 0;
  for (const RepeatedKernel& part : unroll(kernel)) {
    const KernelTime each = kernel_time(part.kernel, context);
    const auto count = static_cast<double>(part.count);
    sum.seconds += count * each.seconds;
    sum.compute_seconds += count * each.compute_seconds;
    sum.memory_seconds += count * each.memory_seconds;
    sum.low += count * each.low;
    sum.high += count * each.high;
    sum.flop += count * each.flop;
    sum.bytes += count * each.bytes;
    sum.launches += part.count;
    peak += count * each.seconds * each.fraction_of_peak;
    if (count * each.seconds <= most) continue;
    most = count * each.seconds;
    sum.bound_by = each.bound_by;
    sum.basis = each.basis;
  }
  if (sum.seconds > 0) sum.fraction_of_peak = peak / sum.seconds;
  return sum;
}

}  // namespace

KernelTime kernel_time(const KernelAt& kernel, const TimeContext& context) {
  if (is_unrolled(kernel)) return unrolled_time(kernel, context);
  const ClassModel& model = model_for(kernel, context);
  return time_of(kernel, predict_of(kernel, model, context), model, context);
}

double at_sustained_clock(const KernelTime& time, const DeviceRates& rates) {
  const double slowed = time.compute_seconds / sustained_clock(time, rates);
  return time.seconds + std::max(slowed, time.memory_seconds) -
         std::max(time.compute_seconds, time.memory_seconds);
}

KernelTimeChain kernel_time_chain(const KernelAt& kernel, const TimeContext& context) {
  if (is_unrolled(kernel)) return {.work = unrolled_time(kernel, context).seconds};
  const ClassModel& model = model_for(kernel, context);
  return chain_of(kernel, predict_of(kernel, model, context), model, context);
}

KernelTime kernel_time_by(const ConvCost& algorithm, const KernelAt& kernel,
                          const TimeContext& context) {
  const ClassModel& model = model_for(kernel, context);
  return time_of(kernel, predict_by(algorithm, kernel, model, context), model, context);
}

PricedAs priced_as(const KernelAt& kernel, const TimeContext& context) {
  const ClassModel& model = model_for(kernel, context);
  return {model.kernel_class, model.arithmetic, model.range90};
}

Evidence evidence_of(const KernelAt& kernel, const TimeContext& context) {
  return model_for(kernel, context).evidence;
}

std::vector<ConvCost> conv_alternatives(const KernelAt& kernel, const TimeContext& context) {
  const ClassModel& model = model_for(kernel, context);
  if (model.depthwise) return {depthwise_cost(kernel, model, context)};
  if (model.grouped) return {grouped_cost(kernel, model, context)};
  if (!model.conv) return {};
  std::vector<ConvCost> rows;
  if (context.offers() != nullptr) {
    rows = offered_costs(kernel, context);
  } else {
    const ConvCosts costs = model.conv->costs(shape_of(kernel, context));
    rows.assign(costs.all().begin(), costs.all().end());
  }
  std::ranges::stable_sort(rows, {}, &ConvCost::seconds);
  return rows;
}

}  // namespace plimsoll
