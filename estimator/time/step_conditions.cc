#include "estimator/time/step_conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "estimator/request/platform.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

StepPhase phase_of(Phase phase) { return static_cast<StepPhase>(phase); }

bool is_exchange(const Event& e) {
  return e.kind == Event::Kind::kIssue || e.kind == Event::Kind::kAwait;
}

// Of one thread of the host, the reference machine's being 1.
double speed_of(const Platform& platform) {
  return platform.host.speed(release_year(platform.device.compute_capability));
}

// What its row says of a reference machine takes a host its own time.
StepHabits habits_of(const Platform& platform, const DispatchBehaviour& behaviour, bool training) {
  StepHabits habits;
  const std::optional<Dispatch>& dispatch = behaviour.costs;
  if (!dispatch) return habits;
  const double slower = dispatch->reference ? 1 / speed_of(platform) : 1;
  const Seconds launch =
      training ? dispatch->per_launch : dispatch->per_forward_launch.value_or(dispatch->per_launch);
  habits.launch = launch.value * slower;
  habits.cell_launch = dispatch->per_operator.value_or(launch).value * slower;
  habits.fixed = (training ? dispatch->per_step : dispatch->per_forward).value * slower;
  habits.per_parameter = training ? dispatch->per_array.value * slower : 0;
  habits.copies_beside_update = behaviour.copies_during_update;
  habits.gpu_factor = dispatch->gpu_factor;
  habits.per_replica = dispatch->per_replica.value * slower;
  return habits;
}

// What the driver takes to launch a straight line of kernels as one graph again, measured on a Xeon
// Silver 4208: Houston Hoffman and others, "Constant Time Launch for Straight-Line CUDA Graphs and
// Other Performance Enhancements", NVIDIA's technical blog, 2024. Before it the framework takes
// what it takes to call one operator.
GraphReplay replay_of(const Recipe& recipe, const Version& cuda, double call) {
  const int64_t passes = recipe.mode == Mode::kInference ? 1 : 2 * recipe.accumulate;
  const bool constant = !(cuda < Version{{12, 6}});
  return {.passes = passes,
          .per_pass = call + (constant ? 2.5e-6 : 2e-6),
          .per_node = constant ? 1e-9 : 200e-9};
}

LoaderHabits loader_habits(const Platform& platform, const std::optional<Dispatch>& dispatch,
                           const ProgramRequest& program) {
  const LoaderKind kind = loader_of(program);
  if (kind == LoaderKind::kFiles) return {.from_files = true};
  if (!dispatch || !dispatch->loader || kind == LoaderKind::kNone) return {};
  const Loader& loader = *dispatch->loader;
  int64_t processes = program.workers.value_or(0);
  if (platform.host.cores > 0) processes = std::min(processes, platform.host.cores);
  return {.per_sample = loader.per_sample(kind).value / speed_of(platform),
          .processes = processes,
          .beside = loader.beside};
}

// B/s of a batch on its way to the device.
double input_path(const Platform& platform, const DispatchBehaviour& dispatch) {
  if (dispatch.costs && dispatch.costs->input_path.value > 0)
    return dispatch.costs->input_path.value;
  return (dispatch.pageable_input ? platform.host.pageable_copy : platform.host.pinned_copy).value;
}

// A collective leaves some to work beside it, whatever its channels.
constexpr double kMostMultiprocessors = .5;

LinkRates link_rates(const Link& link, int64_t members) {
  const LinkPoint& point = link.point(members);
  return {.bandwidth = point.bus_bandwidth.value,
          .latency = point.latency.value,
          .one_way = link.one_way ? link.one_way->value : 0};
}

// As one of the group's devices sees it: of its bytes each of the group in a machine sends a part,
// over a port of its own or its share of the machine's, which groups beside it use too.
LinkRates network_rates(const Platform& platform, const ExchangeGroup& group) {
  LinkRates rates = link_rates(*platform.network, group.nodes);
  const auto members = static_cast<double>(group.per_node);
  const auto sharing = static_cast<double>(platform.gpu_count / platform.nodes);
  rates.bandwidth *= platform.network->port_of_gpu ? members : members / sharing;
  return rates;
}

// NCCL's kernels have a block for each channel, which takes a multiprocessor to itself; those of
// another kind of link, where a group crosses both, are the same blocks.
double multiprocessors(const Platform& platform, const ExchangeGroup& group) {
  int64_t channels = group.per_node > 1 && platform.link ? platform.link->channels : 0;
  if (group.nodes > 1 && platform.network)
    channels = std::max(channels, platform.network->channels);
  const auto all = static_cast<double>(std::max<int64_t>(1, platform.device.sms));
  return std::min(kMostMultiprocessors, static_cast<double>(channels) / all);
}

// What a card's link to its host gives of its nominal rate to copies of pinned memory:
// calibrate/measure/host.py beside an H100, 54.2 of 63.0 GB/s.
constexpr double kPinnedShare = .86;
// Of one lane, each generation twice the one before; the third's: 8 GT/s, 128b/130b (PCI Express
// Base Specification).
constexpr double kLane3 = .985e9;

// B/s of copies beside the kernels, either way.
double host_link(const Platform& platform) {
  const Device& device = platform.device;
  if (device.pcie_generation <= 0 || device.pcie_lanes <= 0) return platform.host.pinned_copy.value;
  const double lane = kLane3 * std::exp2(static_cast<double>(device.pcie_generation - 3));
  return kPinnedShare * lane * static_cast<double>(device.pcie_lanes);
}

// Of the host's memory a card's share, of machines with cards of its time: 136.5 GB/s for the 8
// GPUs of the DGX-1 of 2016 (NVIDIA's datasheet: two Xeon E5-2698 v4 with DDR4-2133, four channels
// each), 614 GB/s for those of the DGX H100 of 2022 (two Xeon 8480C, eight channels of DDR5-4800
// each), a factor of 1.285 a year. Assumed: two thirds of it, as hosts add up gradients
// (hwdb/hosts/generic.json).
double host_memory(const Platform& platform) {
  constexpr double kOf2016 = 136.5e9 / 8, kPerYear = 1.285, kReached = 2. / 3;
  const int64_t year = release_year(platform.device.compute_capability);
  return kReached * kOf2016 * std::pow(kPerYear, static_cast<double>(year - 2016));
}

void set_exchange(const Platform& platform, const ParallelPlan& plan, StepTimeInput& input) {
  input.axes = exchange_by_axis(platform, plan.mesh);
  if (plan.tensor_overlap) {
    const auto along = static_cast<size_t>(Axis::kTensor);
    input.axes[along].pieces = plan.mesh.extent(Axis::kTensor);
  }
  if (platform.gpu_count == 1) return;
  input.devices = platform.gpu_count;
  if (const ExchangeScheme* scheme = find_exchange_scheme(platform.exchange)) input.scheme = scheme;
}

// torch/nn/parallel/replicate.py: before each forward pass Python copies every module, of which
// each operator stands for one, and sets the copies of its arrays, one by one for each device; a
// gradient is flattened with others, added to those of the other devices and split again
// (torch/nn/parallel/_functions.py, Broadcast, ReduceAddCoalesced).
int64_t replicated(const Step& step, int64_t passes) {
  constexpr int64_t kOfGradient = 2;
  const auto arrays = std::ranges::count_if(step.buffers, [](const Buffer& b) {
    return b.role == Role::kParameter || b.role == Role::kBuffer;
  });
  int64_t modules = 0;  // of all passes
  EventTimes times(step);
  for (size_t i = 0; i < step.events.size(); ++i) {
    const Event& e = step.events[i];
    if (e.kind == Event::Kind::kLaunch && e.phase == Phase::kForward && e.dispatched)
      modules += times(i);
  }
  return passes * (arrays + kOfGradient * step.parameter_arrays) + modules;
}

// A card that lowers its clock may not, or may do so twice as much.
double clock_error(const Device& device) {
  return std::log(device.boost_clock / device.sustained_clock);
}

// Micro-batches of a step. In a recorded stage each comes and goes, forward and back, as one
// tensor; the first stage and the last have neighbours on one side.
int64_t passes_of(const CompiledModel& model) {
  const Mesh& mesh = model.recipe.parallel.mesh;
  if (!model.recorded || mesh.extent(Axis::kStage) == 1) return batches_per_step(model.recipe);
  const int64_t stage = mesh.coordinate(Axis::kStage);
  const bool between = stage > 0 && stage + 1 < mesh.extent(Axis::kStage);
  const auto sends = std::ranges::count_if(model.step.collectives, [](const Collective& c) {
    return c.kind == CollectiveKind::kSendReceive && c.axis == Axis::kStage;
  });
  return std::max<int64_t>(1, sends / (between ? 4 : 2));
}

}  // namespace

ExchangeRates exchange_rates(const Link* link, int64_t gpus, const Host& host) {
  ExchangeRates rates;
  if (link) rates.link = link_rates(*link, gpus);
  rates.copy = host.pinned_copy.value;
  rates.host_sum = host.gradient_sum.value;
  rates.messages = host.messages.value;
  return rates;
}

ExchangeByAxis exchange_by_axis(const Platform& platform, const Mesh& mesh) {
  ExchangeByAxis axes;
  const Link* link = platform.link ? &*platform.link : nullptr;
  axes[kHostGroup].rates.copy = host_link(platform);
  axes[kHostGroup].rates.host_memory = host_memory(platform);
  for (size_t i = 0; i < kHostGroup; ++i) {
    const auto axis = static_cast<Axis>(i % kAxisCount);
    const bool joined = i >= kAxisCount;
    if (joined && axis != Axis::kShard && axis != Axis::kData) continue;
    auto& [group, rates, pieces] = axes[i];
    group =
        group_along(axis, joined ? mesh.joined(axis) : mesh, platform.gpu_count / platform.nodes);
    if (group.per_node * group.nodes == 1) continue;
    rates = exchange_rates(link, group.per_node, platform.host);
    rates.card_memory = platform.device.bandwidth.value;
    rates.multiprocessors = multiprocessors(platform, group);
    if (platform.network) rates.network = network_rates(platform, group);
  }
  return axes;
}

LoaderKind loader_of(const ProgramRequest& program) {
  return program.loader.value_or(program.workers ? LoaderKind::kConvert : LoaderKind::kNone);
}

std::string host_basis(const Platform& platform, const DispatchBehaviour& behaviour,
                       const ProgramRequest& program) {
  const std::optional<Dispatch>& dispatch = behaviour.costs;
  std::string text = fmt::format("host: {}", platform.host.id);
  const bool rated = platform.host.id == kUnknownHost && platform.host.single_thread;
  if (rated) text += fmt::format(" with a {}", platform.host.name);
  if (dispatch && dispatch->reference) {
    text += fmt::format(
        ", {} a thread has {:.2f} times the speed of a 3.7 GHz Skylake-SP thread",
        platform.host.single_thread ? "by its rating" : "assumed to be as old as the GPU:",
        speed_of(platform));
  } else {
    text += ", fitted";
  }
  const LoaderKind kind = loader_of(program);
  if (kind == LoaderKind::kNone)
    return text + fmt::format("; data loading is not included; add it with {} or {}",
                              setting("workers", "N"), setting("loader"));
  if (kind == LoaderKind::kFiles)
    return text +
           "; how long files take to be read and decoded is unknown: only the range includes it";
  if (!dispatch || !dispatch->loader)
    return text +
           fmt::format("; the loading time of {} is unknown, so data loading is not included",
                       behaviour.framework);
  const bool beside = dispatch->loader->beside;
  return text + fmt::format("; data loader {}, {}; decoding of files is not included", name(kind),
                            beside ? "in threads in parallel with the step"
                            : program.workers.value_or(0) == 0
                                ? "in the process that launches"
                                : fmt::format("in {} processes", *program.workers));
}

std::vector<KernelLaunches> count_launches(const Step& step, bool adds_bias) {
  std::map<std::tuple<KernelId, Phase, bool, size_t>, int64_t> counts;
  NodeId convolved = kNoNode;  // by the launch before
  size_t stretch = 0;
  EventTimes times(step);
  for (size_t i = 0; i < step.events.size(); ++i) {
    const Event& e = step.events[i];
    if (is_exchange(e)) ++stretch;
    if (e.kind != Event::Kind::kLaunch) continue;
    const Kernel& kernel = step.kernels[e.id];
    const bool bias = adds_bias && convolved == e.node && kernel.op == "bias";
    counts[{e.id, e.phase, e.dispatched && !bias, stretch}] += times(i);
    const bool forward = kernel.op == "conv" && kernel.pass == Pass::kForward;
    convolved = forward ? e.node : kNoNode;
  }
  std::vector<KernelLaunches> launches;
  launches.reserve(counts.size());
  for (const auto& [key, count] : counts) {
    const auto [id, phase, dispatched, behind] = key;
    launches.push_back({id, {count, phase_of(phase), dispatched, behind}});
  }
  return launches;
}

StepBytes::StepBytes(const CompiledModel& model) : batches_(batches_per_step(model.recipe)) {
  const Step& step = model.step;
  for (BufferId id = 0; id < step.buffers.size(); ++id) {
    if (step.buffers[id].role == Role::kInput) inputs_.push_back(id);
  }
  EventTimes times(step);
  for (size_t i = 0; i < step.events.size(); ++i) {
    const Event& e = step.events[i];
    if (!is_exchange(e)) continue;
    points_.push_back({.collective = e.id,
                       .awaited = e.kind == Event::Kind::kAwait,
                       .kind = step.collectives[e.id].kind,
                       .axis = step.collectives[e.id].axis,
                       .times = times(i),
                       .joined = step.collectives[e.id].joined});
  }
}

void StepBytes::fill_in(const BoundStep& bound, StepTimeInput& input) const {
  input.input_bytes = 0;
  for (const BufferId id : inputs_) input.input_bytes += bound.buffer_bytes[id] * batches_;
  input.exchange = points_;
  for (ExchangePoint& point : input.exchange)
    point.bytes = bound.collective_bytes[point.collective];
}

StepTimeInput step_conditions(const CompiledModel& model, const Platform& platform,
                              const DispatchBehaviour& dispatch, const ProgramRequest& program) {
  StepTimeInput input;
  StepHabits& of_step = input.habits;
  of_step = habits_of(platform, dispatch, model.recipe.mode != Mode::kInference);
  of_step.loader = loader_habits(platform, dispatch.costs, program);
  if (program.cuda_graphs) {
    // Where nobody says which CUDA it is, as before 12.6.
    of_step.replay = replay_of(model.recipe, platform.cuda, of_step.launch);
  }
  input.parameter_arrays = model.step.parameter_arrays;
  input.replicated = replicated(model.step, batches_per_step(model.recipe));
  const Mesh& mesh = model.recipe.parallel.mesh;
  input.other_stages = program.other_stages;
  input.pipeline = {.stages = mesh.extent(Axis::kStage),
                    .stage = mesh.rank / mesh.stride(Axis::kStage) % mesh.extent(Axis::kStage),
                    .micro_batches = passes_of(model),
                    .chunks = model.recipe.parallel.chunks};
  input.schedule = model.recipe.parallel.schedule;
  input.training = model.recipe.mode != Mode::kInference;
  set_exchange(platform, model.recipe.parallel, input);
  if (program.input_copy.value_or(dispatch.pageable_input))
    of_step.input_bandwidth = input_path(platform, dispatch);
  return input;
}

double add_host_stages(const CompiledModel& model, const Binding& binding, const Platform& platform,
                       StepTimeInput& input) {
  const auto ns = static_cast<double>(model.meta.host_ns.evaluate(binding).value_or(0));
  const double seconds =
      ns * 1e-9 * static_cast<double>(batches_per_step(model.recipe)) / speed_of(platform);
  input.habits.fixed += seconds;
  return seconds;
}

Evidence StepEvidence::of_most() const {
  const auto& [card, architecture, other] = flop_;
  if (other > card + architecture) return Evidence::kOther;
  return other + architecture > card ? Evidence::kArchitecture : Evidence::kCard;
}

StepRange step_errors(const CompiledModel& model, const Platform& platform,
                      const DispatchBehaviour& behaviour, const StepEvidence& evidence) {
  const StepErrors& e = platform.errors;
  const Recipe& r = model.recipe;
  const std::optional<Dispatch>& dispatch = behaviour.costs;
  double squares = e.step * e.step;
  const auto add = [&](bool applies, double error) { squares += applies ? error * error : 0; };
  add(r.mode == Mode::kInference, e.inference);
  add(evidence.of_most() == Evidence::kArchitecture, e.architecture);
  add(evidence.of_most() == Evidence::kOther, e.transferred);
  add(is_half(*r.precision), e.half);
  add(r.precision->storage == DType::kFloat64, e.fp64);
  add(!dispatch, e.assumed);
  add(true, clock_error(platform.device));
  const bool known_host = platform.host.id != kUnknownHost;
  const bool fitted = dispatch && !dispatch->reference;
  const double host = fitted ? e.host : platform.host.single_thread ? e.rated_host : e.unknown_host;
  return {.step = std::sqrt(squares),
          .host = host,
          .loader = e.loader,
          .copy = known_host ? e.copy : e.unknown_copy,
          .exchange = e.exchange,
          .files = e.files};
}

double samples_per_step(const CompiledModel& model, const Binding& binding, int64_t devices) {
  return static_cast<double>(batch_at(model, binding)) * static_cast<double>(devices) *
         static_cast<double>(batches_per_step(model.recipe));
}

double samples_loaded(const CompiledModel& model, const Binding& binding,
                      const Platform& platform) {
  return samples_per_step(model, binding, platform.one_process() ? platform.gpu_count : 1);
}

double samples_per_second(const CompiledModel& model, const Binding& binding, int64_t devices,
                          double seconds) {
  if (seconds <= 0) return 0;
  const auto units = model.meta.units_per_sample.evaluate(binding).value_or(1);
  return samples_per_step(model, binding, devices) * static_cast<double>(units) / seconds;
}

int64_t to_ns(double seconds) {
  const double ns = seconds * 1e9;
  return ns < 9.2e18 ? static_cast<int64_t>(std::llround(ns)) : std::numeric_limits<int64_t>::max();
}

}  // namespace plimsoll
