#include "estimator/time/time_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "estimator/kernels/roofline.h"
#include "estimator/request/platform.h"
#include "estimator/time/step_conditions.h"
#include "graph/ir/kernel_label.h"

namespace plimsoll {
namespace {

// A distinct kernel and all its launches in the step.
struct LaunchedKernel {
  const KernelTime* time = nullptr;  // of one launch, alone
  int64_t count = 0;
  double seconds = 0;  // of all of them, in the step
};

// Distinct kernels by their share of the step. `launched`: by KernelId.
std::vector<KernelShare> rank(const BoundStep& bound, const std::vector<LaunchedKernel>& launched,
                              const StepTime& step, double bandwidth) {
  std::vector<KernelShare> shares;
  for (KernelId id = 0; id < launched.size(); ++id) {
    const auto& [time, count, seconds] = launched[id];
    if (count == 0) continue;
    const KernelTime& t = *time;
    const double each = seconds / static_cast<double>(count);
    // What goes beyond the device memory's rate came from caches.
    const double bytes = bandwidth > 0 ? std::min(t.bytes, bandwidth * each) : t.bytes;
    shares.push_back({.kernel = kernel_label(bound.kernels[id]),
                      .algorithm = std::string(t.algorithm),
                      .count = count,
                      .total_ns = to_ns(seconds),
                      .share = step.gpu > 0 ? seconds / step.gpu : 0,
                      .fraction_of_peak = share_of_peak(t, each),
                      .bound_by = std::string(name(t.bound_by)),
                      .flop = t.flop,
                      .bytes = bytes,
                      .flop_per_byte = bytes > 0 ? t.flop / bytes : 0,
                      .flop_per_second = each > 0 ? t.flop / each : 0});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return shares;
}

// Of one launch, as its algorithm does them; of what has no algorithm, as counted.
double executed_flop(const KernelAt& kernel, const KernelTime& time) {
  return time.flop > 0 ? time.flop : static_cast<double>(kernel.flop);
}

// An image is converted to the layout that a library's kernel wants, and its result back.
constexpr int64_t kTurnsOfAKernel = 2;

// Classes of kernels by their share of the step, as rank().
std::vector<ClassShare> rank_classes(const BoundStep& bound,
                                     const std::vector<LaunchedKernel>& launched,
                                     const StepTime& step, const Platform& platform,
                                     std::string_view framework, int cudnn) {
  const Peak* fp32 = platform.device.peak("fp32");
  std::map<std::string, std::pair<ClassShare, double>> classes;  // and seconds
  for (KernelId id = 0; id < launched.size(); ++id) {
    const auto& [time, count, seconds] = launched[id];
    if (count == 0) continue;
    const KernelAt& kernel = bound.kernels[id];
    const KernelTime& each = *time;
    const double converted = each.seconds > 0 ? seconds * each.converted / each.seconds : 0;
    if (converted > 0) {
      auto& [copies, conversion] = classes[std::string(kConversionClass)];
      copies.count += kTurnsOfAKernel * count;
      conversion += converted;
    }
    auto& [sum, all] = classes[class_of(kernel)];
    sum.library_kernel = library_kernel(kernel, framework, cudnn);
    sum.count += count;
    all += seconds - converted;
    // Operations for now, a share of the peak below.
    sum.fp32_utilisation += executed_flop(kernel, each) * static_cast<double>(count);
  }
  std::vector<ClassShare> shares;
  for (auto& [name, entry] : classes) {
    auto& [sum, all] = entry;
    sum.kernel_class = name;
    sum.ns = to_ns(all);
    sum.share = step.gpu > 0 ? all / step.gpu : 0;
    const double most = fp32 ? fp32->rate.value * all : 0;
    sum.fp32_utilisation = most > 0 ? sum.fp32_utilisation / most : 0;
    shares.push_back(std::move(sum));
  }
  std::ranges::stable_sort(shares, std::ranges::greater{}, &ClassShare::ns);
  return shares;
}

constexpr int64_t kLossBytes = 4;  // one number in single precision

// Over PCIe, either way.
int64_t exchanged_over_slot(const StepTimeInput& input, const Platform& platform) {
  if (!platform.link || platform.link->kind != "pcie") return 0;
  double bytes = 0;
  for (const ExchangePoint& point : input.exchange) {
    if (is_of_host(point.kind)) continue;
    const int64_t n = input.axes[static_cast<size_t>(point.axis)].group.per_node;
    if (!point.awaited && n > 1)
      bytes += share_of_link(point.kind, static_cast<double>(n)) *
               static_cast<double>(point.times * point.bytes);
  }
  return std::llround(bytes);
}

void set_step(TimeEstimate& t, const StepTime& step, const StepTimeInput& input,
              const Platform& platform) {
  const auto at = [&](StepPhase phase) { return step.phase[static_cast<size_t>(phase)]; };
  t.step_ns = to_ns(step.seconds);
  t.forward_ns = to_ns(at(StepPhase::kForward) + at(StepPhase::kLoss));
  t.backward_ns = to_ns(at(StepPhase::kBackward));
  t.update_ns = to_ns(at(StepPhase::kUpdate));
  t.communication_ns = to_ns(step.communication);
  t.offload_ns = to_ns(step.offload);
  t.input_copy_ns = to_ns(step.input_copy);
  t.host_wait_ns = to_ns(
      std::max(0.0, step.seconds - step.gpu - step.input_copy - step.communication - step.bubble));
  t.gpu_ns = to_ns(step.gpu);
  t.host_ns = to_ns(step.host);
  t.framework_ns = to_ns(step.fixed);
  t.loader_ns = to_ns(step.load);
  t.host_id = platform.host.id;
  t.single_thread = platform.host.speed(release_year(platform.device.compute_capability));
  t.parameter_arrays = input.parameter_arrays;
  t.bubble_ns = to_ns(step.bubble);
  t.step_range_ns = {to_ns(step.low), to_ns(step.high)};
  t.gpu_busy = step.gpu_busy;
  t.host_bound = step.host_bound;
  t.input_bound = step.input_bound;
  t.cpu_utilisation =
      step.seconds > 0 ? std::min(1.0, (step.host + step.fixed + step.load) / step.seconds) : 0;
  t.pcie_bytes = input.input_bytes;
  t.loading_ns = to_ns(step.loading);
  t.host_cores = platform.host.cores;
  t.to_device_bytes = input.input_bytes + exchanged_over_slot(input, platform);
  if (input.training) t.from_device_bytes = kLossBytes + exchanged_over_slot(input, platform);
  double flop = 0;
  for (size_t i = 0; i < input.kernels.size(); ++i) {
    const CountedKernel& k = input.kernels[i];
    const auto& [count, phase, dispatched, stretch] = k.launches;
    const int64_t launches = count * step.kernels[i].launches;
    const int64_t dispatches = dispatched ? launches : 0;
    flop += executed_flop(k.kernel, step.kernels[i]) * static_cast<double>(count);
    t.launches += std::max(launches, count);
    t.dispatches += dispatches;
    if (phase == StepPhase::kForward) t.forward_dispatches += dispatches;
  }
  const Peak* fp32 = platform.device.peak("fp32");
  t.fp32_utilisation = fp32 && step.gpu > 0 ? flop / (fp32->rate.value * step.gpu) : 0;
}

}  // namespace

std::optional<double> epoch_seconds(const CompiledModel& model, const ProgramRequest& program,
                                    double whole_batch, double step_seconds) {
  constexpr double kMost = 9e9;
  const bool asked = program.samples > 0 || program.epochs > 0;
  const int64_t samples = program.samples > 0 ? program.samples : model.meta.samples_per_epoch;
  if (samples <= 0 || whole_batch <= 0) return std::nullopt;
  if (!asked && model.recipe.mode == Mode::kInference) return std::nullopt;
  const double seconds = std::ceil(static_cast<double>(samples) / whole_batch) * step_seconds;
  return asked || seconds < kMost ? std::optional(seconds) : std::nullopt;
}

double highest_flops(const BoundStep& bound, const DeviceRates& rates) {
  double highest = rates.peak_of(Arithmetic::kF32);
  for (const KernelAt& k : bound.kernels)
    highest = std::max(highest, rates.peak_of(arithmetic_on(rates, k.dtype, k.tensor_core)));
  return highest * rates.maximum_clock;
}

bool countable(const TimeEstimate& time) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return time.step_range_ns.high < kMost && time.epoch_ns.value_or(0) < kMost &&
         time.run_ns.value_or(0) < kMost;
}

namespace {

// Attention's backward pass multiplies five times, once to have the scores again
// (graph/eager/attention_kernel.cc).
constexpr double kScoresAgain = 1. / 5;

const AttentionProblem<int64_t>* attention_of(const KernelAt& kernel) {
  return std::get_if<AttentionProblem<int64_t>>(&kernel.problem);
}

// Of attention's operations on a rank, how many times as many there are where nothing is masked.
// Ranks that pass keys and values on take halves of them, but their own, where the mask hides the
// rest: of c parts (c + 1) / 2 (graph/eager/context_attention.cc).
double unmasked_share(const StepTimeInput& input, const ParallelPlan& plan) {
  const auto ranks = static_cast<double>(plan.mesh.extent(Axis::kContext));
  const bool masked = std::ranges::any_of(input.kernels, [](const CountedKernel& k) {
    const auto* attention = attention_of(k.kernel);
    return attention && attention->causal;
  });
  return masked && plan.context_by != ContextBy::kUlysses ? 2 * ranks / (ranks + 1) : 1;
}

// Operations of products, convolutions, attention and recurrent layers on this device, of forward
// and backward passes.
struct ModelFlop {
  double once = 0;   // without what is computed again
  double again = 0;  // what a checkpoint runs again, and the scores of attention
};

// What a checkpoint runs again is a forward kernel in backward.
ModelFlop model_flop(const StepTimeInput& input, const ParallelPlan& plan) {
  constexpr KernelClass kMultiplying[] = {KernelClass::kGemm, KernelClass::kConv,
                                          KernelClass::kAttention, KernelClass::kRecurrent};
  const double unmasked = unmasked_share(input, plan);
  ModelFlop flop;
  for (const auto& [kernel, launches] : input.kernels) {
    const bool backward = launches.phase == StepPhase::kBackward;
    const bool again = backward && kernel.pass == Pass::kForward;
    const bool multiplies =
        std::ranges::find(kMultiplying, kernel.kernel_class) != std::end(kMultiplying);
    if (!multiplies) continue;
    double all = static_cast<double>(kernel.flop) * static_cast<double>(launches.count);
    if (attention_of(kernel)) all *= unmasked;
    const double scores = attention_of(kernel) && backward && !again ? kScoresAgain * all : 0;
    (again ? flop.again : flop.once) += all - scores;
    flop.again += scores;
  }
  return flop;
}

// What people who train language models compare.
void set_rates(TimeEstimate& t, const StepTimeInput& input, const ParallelPlan& plan,
               double seconds, double peak) {
  if (t.sample_unit == "tokens") t.tokens_per_second = t.samples_per_second;
  if (peak <= 0 || seconds <= 0) return;
  const ModelFlop flop = model_flop(input, plan);
  t.mfu = flop.once / (peak * seconds);
  t.hfu = (flop.once + flop.again) / (peak * seconds);
}

void set_epoch(TimeEstimate& t, const CompiledModel& model, const ProgramRequest& program,
               double whole_batch, double step_seconds) {
  const auto epoch = epoch_seconds(model, program, whole_batch, step_seconds);
  if (!epoch) return;
  t.epoch_samples = program.samples > 0 ? program.samples : model.meta.samples_per_epoch;
  t.epoch_ns = to_ns(*epoch);
  if (program.epochs > 0) t.run_ns = to_ns(*epoch * static_cast<double>(program.epochs));
  if (program.samples == 0)
    t.basis.push_back(fmt::format("an epoch: the {} samples of {}", model.meta.samples_per_epoch,
                                  model.meta.dataset));
}

}  // namespace

std::vector<KernelPrice> plan_time(const TimeQuestion& of, TimeEstimate& t) {
  const auto& [model, bound, binding, platform, dispatch, context, program, lanes] = of;
  const auto launches = count_launches(model.step, dispatch.adds_bias);
  StepTimeInput input = step_conditions(model, platform, dispatch, program);
  StepBytes(model).fill_in(bound, input);
  input.samples = samples_loaded(model, binding, platform);
  const double host_stages = add_host_stages(model, binding, platform, input);
  StepEvidence evidence;
  double roofline = 0;
  for (const auto& [id, counted] : launches) {
    const KernelAt& kernel = bound.kernels[id];
    input.kernels.push_back({kernel, counted});
    evidence.add(kernel.flop, counted.count, evidence_of(kernel, context));
    roofline += roofline_seconds(kernel, context.rates()) * static_cast<double>(counted.count);
  }
  input.errors = step_errors(model, platform, dispatch, evidence);
  const StepTime step = step_time(input, context);
  t = {};
  set_step(t, step, input, platform);
  if (lanes && input.devices > 1)
    t.lanes = step_lanes(input, step, context.rates(), platform, model.recipe.parallel);
  std::vector<KernelPrice> prices(bound.kernels.size());
  std::vector<LaunchedKernel> launched(bound.kernels.size());
  std::set<int> used;
  for (size_t i = 0; i < launches.size(); ++i) {
    const KernelTime& time = step.kernels[i];
    const auto& [id, counted] = launches[i];
    const double each = in_step(time, input.habits, context.rates());
    prices[id] = {.ns = to_ns(each),
                  .algorithm = std::string(time.algorithm),
                  .bound_by = std::string(name(time.bound_by)),
                  .fraction_of_peak = share_of_peak(time, each)};
    launched[id].time = &time;
    launched[id].count += counted.count;
    launched[id].seconds += each * static_cast<double>(counted.count);
    used.insert(time.basis);
  }
  for (const int index : used) {
    const std::string basis = "time: " + context.basis(index);
    if (std::ranges::find(t.basis, basis) == t.basis.end()) t.basis.push_back(basis);
  }
  t.basis.push_back(host_basis(platform, dispatch, program));
  if (host_stages > 0)
    t.basis.push_back(fmt::format(
        "host: layers that run on the host take {:.1f} ms of the step (host_ns of the layers)",
        host_stages * 1e3));
  const LoaderHabits& loader = input.habits.loader;
  t.loader = name(loader.counted() || loader.from_files ? loader_of(program) : LoaderKind::kNone);
  const int64_t replicas = model.recipe.parallel.mesh.replicas();
  t.samples_per_second = samples_per_second(model, binding, replicas, step.seconds);
  t.sample_unit = model.meta.sample_unit;
  set_rates(t, input, model.recipe.parallel, step.seconds, highest_flops(bound, context.rates()));
  t.roofline_ns = to_ns(roofline);
  t.evidence = name(evidence.of_most());
  const double whole_batch = samples_per_step(model, binding, replicas);
  set_epoch(t, model, program, whole_batch, step.seconds);
  t.provenance = used.empty() ? "uncalibrated" : t.basis.front();
  t.by_class = rank_classes(bound, launched, step, platform, dispatch.framework,
                            context.options().library.cudnn);
  t.kernels = rank(bound, launched, step, context.rates().bandwidth);
  return prices;
}

}  // namespace plimsoll
