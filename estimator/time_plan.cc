#include "estimator/time_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "estimator/estimator.h"
#include "estimator/time/step_time.h"

namespace plimsoll {
namespace {

// Saturates: what does not fit is an error of whoever shows it, see countable().
int64_t to_ns(double seconds) {
  const double ns = seconds * 1e9;
  return ns < 9.2e18 ? static_cast<int64_t>(std::llround(ns)) : std::numeric_limits<int64_t>::max();
}

std::string extents(const std::array<int64_t, 3>& e) {
  return e[0] > 1 ? fmt::format("{}x{}x{}", e[0], e[1], e[2]) : fmt::format("{}x{}", e[1], e[2]);
}

// What a kernel is called in the table of kernels.
struct Describe {
  const KernelAt& kernel;
  std::string operator()(const RowsProblem<int64_t>& p) const {
    return fmt::format("{} {} {}x{}", kernel.op, name(kernel.pass), p.rows, p.columns);
  }
  std::string operator()(const GemmProblem<int64_t>& p) const {
    return fmt::format("gemm {}{}x{}x{}", p.batch > 1 ? fmt::format("{} of ", p.batch) : "", p.m,
                       p.n, p.k);
  }
  std::string operator()(const ConvProblem<int64_t>& p) const {
    return fmt::format("conv {} {}x{}x{} -> {}, {}{}", name(kernel.pass), p.n, p.c, extents(p.in),
                       p.k, extents(p.filter),
                       p.groups > 1 ? fmt::format(" in {} groups", p.groups) : "");
  }
  std::string operator()(const RecurrentProblem<int64_t>& p) const {
    return fmt::format("recurrent {} {} layers, {} steps, hidden {}", name(kernel.pass), p.layers,
                       p.timesteps, p.hidden);
  }
  std::string operator()(const AttentionProblem<int64_t>& p) const {
    return fmt::format("attention {} {}x{}, {}x{}, head {}", name(kernel.pass), p.batch, p.heads,
                       p.queries, p.keys, p.head_size);
  }
};

StepPhase phase_of(Phase phase) { return static_cast<StepPhase>(phase); }

// Launches of one kernel in one phase, counted; apart those of a convolution's bias, where the
// operator that convolves adds it.
StepTimeInput count_launches(const CompiledModel& model, const BoundStep& bound, bool adds_bias,
                             std::vector<KernelId>& ids) {
  std::map<std::tuple<KernelId, Phase, bool>, int64_t> counts;
  NodeId convolved = kNoNode;  // by the launch before
  for (const Event& e : model.step.events) {
    if (e.kind != Event::Kind::kLaunch) continue;
    const KernelAt& kernel = bound.kernels[e.id];
    const bool bias = adds_bias && convolved == e.node && kernel.op == "bias";
    ++counts[{e.id, e.phase, !bias}];
    const bool forward = kernel.op == "conv" && kernel.pass == Pass::kForward;
    convolved = forward ? e.node : kNoNode;
  }
  StepTimeInput input;
  for (const auto& [key, count] : counts) {
    const auto [id, phase, dispatched] = key;
    input.kernels.push_back({bound.kernels[id], count, phase_of(phase), dispatched});
    ids.push_back(id);
  }
  return input;
}

StepHabits habits_of(const Platform& platform, bool training) {
  StepHabits habits;
  const Dispatch* dispatch =
      platform.host.find(platform.framework.framework, platform.framework.asked);
  if (!dispatch) return habits;
  const Seconds launch =
      training ? dispatch->per_launch : dispatch->per_forward_launch.value_or(dispatch->per_launch);
  habits.launch = launch.value;
  habits.cell_launch = dispatch->per_operator.value_or(launch).value;
  habits.fixed = (training ? dispatch->per_step : dispatch->per_forward).value;
  habits.per_parameter = training ? dispatch->per_array.value : 0;
  habits.copies_beside_update = platform.framework.copies_beside_update;
  habits.gpu_factor = dispatch->gpu_factor;
  habits.forward = dispatch->per_forward.value;
  habits.per_replica = dispatch->per_replica.value;
  return habits;
}

// B/s of a batch on its way to the device.
double input_path(const Platform& platform, bool pageable) {
  const Dispatch* dispatch =
      platform.host.find(platform.framework.framework, platform.framework.asked);
  if (dispatch && dispatch->input_path.value > 0) return dispatch->input_path.value;
  return (pageable ? platform.host.pageable_copy : platform.host.pinned_copy).value;
}

// Watts below which a card lowers its clock under the load of a step, by how much nobody measured:
// NeuSight's transformers take twice as long as predicted on the P4 (75 W) and T4 (70 W).
constexpr double kSustains = 80;

// What makes this step's time less certain than its kernels are.
StepRange errors_of(const CompiledModel& model, const Platform& platform, bool transferred) {
  const StepErrors& e = platform.errors;
  const Recipe& r = model.recipe;
  const bool half = r.precision == Precision::kFp16 || r.precision == Precision::kBf16 ||
                    r.precision == Precision::kAmpFp16 || r.precision == Precision::kAmpBf16;
  const Dispatch* dispatch =
      platform.host.find(platform.framework.framework, platform.framework.asked);
  double squares = e.step * e.step;
  const auto add = [&](bool applies, double error) { squares += applies ? error * error : 0; };
  add(r.mode == Mode::kInference, e.inference);
  add(transferred, e.transferred);
  add(half, e.half);
  add(r.precision == Precision::kFp64, e.fp64);
  add(!dispatch || dispatch->assumed || platform.device.tdp.value < kSustains, e.assumed);
  const bool known_host = platform.host.id != kUnknownHost;
  return {.step = std::sqrt(squares),
          .host = known_host ? e.host : e.unknown_host,
          .copy = known_host ? e.copy : e.unknown_copy,
          .exchange = e.exchange};
}

// Whether most of the work that libraries do is priced by another architecture's calibration. Of 64
// bits no kernel was measured on any: they have an error of their own, and of the architecture's 32
// bits derived is at home.
bool transferred(const StepTimeInput& input, const TimeContext& context, Precision precision) {
  const auto at_home = precision == Precision::kFp64 ? is_at_home : is_own;
  double own = 0, other = 0;
  for (const CountedKernel& k : input.kernels) {
    const auto flop = static_cast<double>(k.kernel.flop) * static_cast<double>(k.count);
    (at_home(k.kernel, context) ? own : other) += flop;
  }
  return other > own;
}

// Distinct kernels by their share of the step.
std::vector<KernelShare> rank(const BoundStep& bound, const TimePlan& plan,
                              const std::vector<int64_t>& counts, double total) {
  std::vector<KernelShare> shares;
  for (KernelId id = 0; id < counts.size(); ++id) {
    if (counts[id] == 0) continue;
    const KernelTime& t = plan.kernels[id];
    const double seconds = t.seconds * static_cast<double>(counts[id]);
    shares.push_back({.kernel = kernel_label(bound.kernels[id]),
                      .algorithm = plan.prices[id].algorithm,
                      .count = counts[id],
                      .total_ns = to_ns(seconds),
                      .share = total > 0 ? seconds / total : 0,
                      .fraction_of_peak = t.fraction_of_peak,
                      .bound_by = std::string(name(t.bound_by)),
                      .flop = t.flop,
                      .bytes = t.bytes,
                      .flop_per_byte = t.bytes > 0 ? t.flop / t.bytes : 0,
                      .flop_per_second = t.seconds > 0 ? t.flop / t.seconds : 0});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return shares;
}

TimeEstimate estimate_of(const StepTime& step, const StepTimeInput& input,
                         const Platform& platform) {
  TimeEstimate t;
  const auto at = [&](StepPhase phase) { return step.phase[static_cast<size_t>(phase)]; };
  t.step_ns = to_ns(step.seconds);
  t.forward_ns = to_ns(at(StepPhase::kForward) + at(StepPhase::kLoss));
  t.backward_ns = to_ns(at(StepPhase::kBackward));
  t.update_ns = to_ns(at(StepPhase::kUpdate));
  t.communication_ns = to_ns(step.communication);
  t.input_copy_ns = to_ns(step.input_copy);
  t.gpu_ns = to_ns(step.gpu);
  t.host_ns = to_ns(step.host);
  t.framework_ns = to_ns(step.fixed);
  t.parameter_arrays = input.parameter_arrays;
  t.step_range_ns = {to_ns(step.low), to_ns(step.high)};
  t.gpu_busy = step.gpu_busy;
  t.host_bound = step.host_bound;
  t.cpu_utilisation = step.seconds > 0 ? std::min(1.0, (step.host + step.fixed) / step.seconds) : 0;
  t.pcie_bytes = input.input_bytes;
  double flop = 0;
  for (size_t i = 0; i < input.kernels.size(); ++i) {
    const CountedKernel& k = input.kernels[i];
    const int64_t launches = k.count * step.kernels[i].launches;
    const int64_t dispatches = k.dispatched ? launches : 0;
    flop += static_cast<double>(k.kernel.flop) * static_cast<double>(k.count);
    t.launches += std::max(launches, k.count);
    t.dispatches += dispatches;
    if (k.phase == StepPhase::kForward) t.forward_dispatches += dispatches;
  }
  const Peak* fp32 = platform.device.peak("fp32");
  t.fp32_utilisation =
      fp32 && step.gpu > 0 ? std::min(1.0, flop / (fp32->rate.value * step.gpu)) : 0;
  return t;
}

}  // namespace

std::string kernel_label(const KernelAt& kernel) {
  return std::visit(Describe{kernel}, kernel.problem);
}

bool countable(const TimeEstimate& time) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return time.step_range_ns.high < kMost && time.run_ns.value_or(0) < kMost;
}

TimePlan plan_time(const CompiledModel& model, const BoundStep& bound, const Platform& platform,
                   const TimeContext& context, const Request& request, int64_t batch) {
  std::vector<KernelId> ids;
  StepTimeInput input = count_launches(model, bound, !platform.framework.bias_is_operator, ids);
  input.habits = habits_of(platform, model.recipe.mode != Mode::kInference);
  input.parameter_arrays = model.step.parameter_arrays;
  for (BufferId id = 0; id < model.step.buffers.size(); ++id) {
    const Role role = model.step.buffers[id].role;
    if (role == Role::kInput) input.input_bytes += bound.buffer_bytes[id];
    if (role == Role::kParameter) input.parameter_bytes += bound.buffer_bytes[id];
  }
  if (platform.link && request.gpu_count > 1) {
    const LinkPoint& point = platform.link->point(request.gpu_count);
    input.devices = request.gpu_count;
    input.replicate = request.replicate;
    input.training = model.recipe.mode != Mode::kInference;
    input.link.bandwidth = point.bus_bandwidth.value;
    input.link.latency = point.latency.value;
  }
  const bool pageable = platform.framework.input_path == FrameworkProfile::InputPath::kPageable;
  if (request.input_copy.value_or(pageable)) {
    input.habits.input_bandwidth = input_path(platform, pageable);
  }
  input.errors = errors_of(model, platform, transferred(input, context, model.recipe.precision));
  const StepTime step = step_time(input, context);
  TimePlan plan;
  plan.kernels.resize(bound.kernels.size());
  plan.prices.resize(bound.kernels.size());
  std::vector<int64_t> counts(bound.kernels.size(), 0);
  std::set<int> used;
  for (size_t i = 0; i < ids.size(); ++i) {
    const KernelTime& t = step.kernels[i];
    plan.kernels[ids[i]] = t;
    plan.prices[ids[i]] = {to_ns(t.seconds), static_cast<int64_t>(t.workspace),
                           std::string(t.algorithm), std::string(name(t.bound_by)),
                           t.fraction_of_peak};
    counts[ids[i]] += input.kernels[i].count;
    used.insert(t.basis);
  }
  for (const int index : used) {
    const std::string basis = "time: " + context.basis(index);
    if (std::ranges::find(plan.basis, basis) == plan.basis.end()) plan.basis.push_back(basis);
  }
  plan.estimate = estimate_of(step, input, platform);
  TimeEstimate& t = plan.estimate;
  const auto units = model.meta.units_per_sample.evaluate(model.binding).value_or(1);
  // Every device takes a batch of its own.
  const double whole_batch = static_cast<double>(batch) * static_cast<double>(input.devices);
  t.samples_per_second =
      step.seconds > 0 ? whole_batch * static_cast<double>(units) / step.seconds : 0;
  t.sample_unit = model.meta.sample_unit;
  const int64_t samples = request.samples > 0 ? request.samples : model.meta.samples_per_epoch;
  if (request.epochs > 0 && samples > 0 && batch > 0) {
    const double steps = std::ceil(static_cast<double>(samples) / whole_batch);
    t.run_ns = to_ns(steps * static_cast<double>(request.epochs) * step.seconds);
  }
  t.provenance = plan.basis.empty() ? "uncalibrated" : plan.basis.front();
  t.kernels = rank(bound, plan, counts, step.gpu);
  return plan;
}

}  // namespace plimsoll
