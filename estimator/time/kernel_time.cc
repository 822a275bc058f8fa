#include "estimator/time/kernel_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimator/time/attention.h"
#include "estimator/time/batch_norm.h"
#include "estimator/time/convolution.h"
#include "estimator/time/features.h"
#include "estimator/time/keeping.h"
#include "estimator/time/product.h"
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

Draft draft_recurrent(const KernelAt& kernel, const TimeContext::Model& model) {
  const auto& p = std::get<RecurrentProblem<int64_t>>(kernel.problem);
  const RecurrentCost cost = model.recurrent->cost(p, kernel.pass, element_bytes(kernel));
  Draft draft{.seconds = cost.seconds,
              .flop = cost.flop,
              .bytes = cost.bytes,
              .algorithm = name(RecurrentAlgorithm::kStandard),
              .memory_bound = cost.memory_bound};
  const Features at = padded(recurrent_features(p, kernel.pass));
  model.correct({&draft, 1}, {&at, 1});
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
  const Features at = padded(persistent_features(p, algorithm, kernel.pass));
  model.correct({&draft, 1}, {&at, 1});
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
  if (!is(kernel, "batch_norm") || kernel.dtype == DType::kFloat64 ||
      context.rates().compute_capability < kPersistentNormSince) {
    return false;
  }
  const auto& rows = context.rows().rows;
  return context.options().persistent_norm || (rows && rows->norm_clocks(kernel.pass) > 0);
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
  if (is(kernel, "concat")) return options.concat_factor;
  if (is(kernel, "max_pool") && kernel.pass != Pass::kForward) return options.max_pool_backward;
  if (kernel.pass != Pass::kForward) return 1;
  if (is(kernel, "bias")) return options.bias_factor;
  if (is(kernel, "relu")) return options.relu_factor;
  return is_batch_norm(kernel) ? options.norm_factor : 1;
}

Draft draft_rows(const KernelAt& kernel, const TimeContext::Model& model,
                 const TimeOptions& options) {
  const MemoryBoundCost cost = model.rows->cost(kernel, options.layout != Layout::kChannelsLast);
  const double own = own_kernel(kernel, options);
  return {.seconds = cost.seconds * own,
          .flop = static_cast<double>(kernel.flop),
          .bytes = cost.bytes * own,
          .memory_bound = true};
}

// A memory-bound fit's range is that of element-wise work in the main. Softmax and layer norm stray
// further from their traffic: 90 of 100 within so many times it (NeuSight, calls above 0.15 ms on
// P100, P4 and V100: 113 and 130).
constexpr double kSoftmaxStrays = 2.6, kLayerNormStrays = 1.3;

double strays(const KernelAt& kernel) {
  if (kernel.kernel_class == KernelClass::kSoftmax) return kSoftmaxStrays;
  const bool layer_norm = kernel.kernel_class == KernelClass::kNorm && is(kernel, "layer_norm");
  return layer_norm ? kLayerNormStrays : 1;
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
  if (model.depthwise) return draft_depthwise(kernel, model, context);
  if (model.grouped) return draft_grouped(kernel, model, context);
  if (model.recurrent) return draft_recurrent(kernel, model);
  if (model.persistent) return draft_persistent(kernel, model, context);
  if (is_separate_norm(kernel, context)) return draft_separate_norm(kernel, context);
  if (is_persistent_norm(kernel, context)) return draft_persistent_norm(kernel, model, context);
  if (model.rows) return draft_rows(kernel, model, context.options());
  return {.flop = static_cast<double>(kernel.flop), .bytes = compulsory(kernel)};
}

// Whether its model prices several at once.
bool in_lanes(const KernelAt& kernel, const TimeContext::Model& model) {
  return model.conv || (model.gemm && std::holds_alternative<GemmProblem<int64_t>>(kernel.problem));
}

// Whether two kernels may be of one run: one model prices both, and what products and convolutions
// ask beside extents is the same.
bool alike(const KernelAt& a, const KernelAt& b) {
  // A batch decides which recurrent kernels there are.
  const bool recurrent = std::holds_alternative<RecurrentProblem<int64_t>>(a.problem);
  const bool same = a.problem.index() == b.problem.index() && a.pass == b.pass &&
                    a.dtype == b.dtype && a.tensor_core == b.tensor_core;
  if (!same || recurrent) return false;
  if (const auto* gemm = std::get_if<GemmProblem<int64_t>>(&a.problem)) {
    const auto& other = std::get<GemmProblem<int64_t>>(b.problem);
    return gemm->a_t == other.a_t && gemm->b_t == other.b_t &&
           gemm->accumulate == other.accumulate && (gemm->batch > 1) == (other.batch > 1);
  }
  if (const auto* conv = std::get_if<ConvProblem<int64_t>>(&a.problem)) {
    const auto& [n, c, k, groups, in, out, filter, pad, stride, dilation, last] = *conv;
    const auto& other = std::get<ConvProblem<int64_t>>(b.problem);
    // Without a branch or a call for each.
    const auto differ = [](const std::array<int64_t, 3>& x, const std::array<int64_t, 3>& y) {
      return (x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]);
    };
    return ((c ^ other.c) | (k ^ other.k) | (groups ^ other.groups) | (last ^ other.channels_last) |
            differ(in, other.in) | differ(out, other.out) | differ(filter, other.filter) |
            differ(pad, other.pad) | differ(stride, other.stride) |
            differ(dilation, other.dilation)) == 0;
  }
  return true;
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

// Makes times of a run's drafts.
class Finisher {
 public:
  Finisher(const TimeContext::Model& model, const TimeContext& context)
      : fixed_(model.fixed),
        far90_(model.far90),
        near90_(model.near90),
        basis_(model.basis),
        bandwidth_(or_endless(context.rates().bandwidth)),
        highest_flops_(or_endless(model.highest_flops)),
        peak_(highest_flops_ / context.rates().maximum_clock) {
    const bool alone = context.options().alone;
    const double longest = model.rows ? kRowsLaunchInQueue : kLongestLaunchInQueue;
    launch_ = alone ? fixed_ : std::min(fixed_ * kLaunchShareInQueue, longest);
    if (!alone && model.fit) in_situ_ = model.fit->in_situ;
  }

  // Into its place, every field: a copy of so many costs as much as all of their arithmetic.
  void operator()(const KernelAt& kernel, const Draft& draft, KernelTime& time) {
    const double work = std::max(0.0, draft.seconds - fixed_);
    const double in_situ = draft.in_situ ? 1 : in_situ_;
    const double correction =
        draft.corrected.log_factor == 0 ? 1 : std::exp(draft.corrected.log_factor);
    const double predicted = (work + launch_) * correction * in_situ + draft.turned;
    // The longer of what traffic and operations take at least, by one division.
    const double traffic = compulsory(kernel);
    const bool traffic_longer = traffic * highest_flops_ > draft.flop * bandwidth_;
    const double floor = traffic_longer ? traffic / bandwidth_ : draft.flop / highest_flops_;

    time.seconds = std::max(predicted, floor);
    time.algorithm = draft.algorithm;
    time.flop = draft.flop;
    time.bytes = draft.bytes;
    time.workspace = draft.workspace;
    time.basis = basis_;
    time.launches = draft.launches;
    const double range = far90_ + (near90_ - far90_) * draft.corrected.support;
    const double widest = exponential_(range * strays(kernel));
    time.low = std::max(time.seconds / widest, floor);
    time.high = time.seconds * widest;
    const bool by_memory = draft.memory_bound || (predicted < floor && traffic_longer);
    time.bound_by = launch_ > work ? BoundBy::kLatency
                    : by_memory    ? BoundBy::kDram
                                   : BoundBy::kCompute;
    const double at_peak = (by_memory ? bandwidth_ : peak_) * time.seconds;
    time.fraction_of_peak = at_peak > 0 ? (by_memory ? draft.bytes : draft.flop) / at_peak : 0;
  }

 private:
  // Of a rate that is not known no law follows.
  static double or_endless(double rate) {
    return rate > 0 ? rate : std::numeric_limits<double>::infinity();
  }

  double fixed_, far90_, near90_;
  int basis_;
  double bandwidth_, highest_flops_, peak_;
  double launch_ = 0, in_situ_ = 1;
  Exponential exponential_;  // most of a run have the same range
};

void price(Run run, const TimeContext& context, std::span<KernelTime> times) {
  if (is_unrolled(*run.front())) {
    times.front() = unrolled_time(*run.front(), context);
    return;
  }
  const TimeContext::Model& model = model_for(*run.front(), context);
  Finisher finish(model, context);
  if (!in_lanes(*run.front(), model)) {
    for (size_t i = 0; i < run.size(); ++i)
      finish(*run[i], draft_of(*run[i], model, context), times[i]);
    return;
  }
  std::vector<Draft> drafts(run.size());
  if (model.gemm) {
    draft_products(run, model, context, drafts);
  } else {
    draft_convolutions(run, model, context, drafts);
  }
  for (size_t i = 0; i < run.size(); ++i) finish(*run[i], drafts[i], times[i]);
}

}  // namespace

KernelTime kernel_time(const KernelAt& kernel, const TimeContext& context) {
  const KernelAt* const one = &kernel;
  KernelTime time;
  price({&one, 1}, context, {&time, 1});
  return time;
}

namespace {

void price_runs(std::span<const KernelAt* const> kernels, const TimeContext& context,
                std::span<KernelTime> times) {
  for (size_t begin = 0, end = 0; begin < kernels.size(); begin = end) {
    const size_t most = std::min(kernels.size(), begin + kMostInRun);
    while (++end < most && alike(*kernels[begin], *kernels[end])) {
    }
    price(kernels.subspan(begin, end - begin), context, times.subspan(begin, end - begin));
  }
}

}  // namespace

std::vector<KernelTime> kernel_times(std::span<const KernelAt* const> kernels,
                                     const TimeContext& context) {
  std::vector<KernelTime> times(kernels.size());
  price_runs(kernels, context, times);
  return times;
}

void kernel_times(std::span<const KernelAt> kernels, const TimeContext& context,
                  std::span<KernelTime> times) {
  std::array<const KernelAt*, kMostInRun> each;
  for (size_t begin = 0; begin < kernels.size(); begin += kMostInRun) {
    const size_t count = std::min(kMostInRun, kernels.size() - begin);
    for (size_t i = 0; i < count; ++i) each[i] = &kernels[begin + i];
    price_runs({each.data(), count}, context, times.subspan(begin, count));
  }
}

Evidence evidence_of(const KernelAt& kernel, const TimeContext& context) {
  return model_for(kernel, context).evidence;
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
