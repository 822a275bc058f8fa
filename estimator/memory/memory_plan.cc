#include "estimator/memory/memory_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "estimator/library/workspace/cublas.h"
#include "estimator/memory/demand.h"
#include "estimator/memory/host_memory.h"
#include "estimator/memory/process_context.h"
#include "estimator/memory/replay_input.h"
#include "estimator/request/platform.h"
#include "graph/base/try.h"
#include "graph/ir/display_name.h"

namespace plimsoll {
namespace {

HostLoad host_load(const CompiledModel& model, const Binding& binding,
                   const ProgramRequest& program, int64_t input_bytes) {
  const int64_t batch = batch_at(model, binding);
  return {.bytes_per_sample = batch > 0 ? input_bytes / batch : 0,
          .samples_in_memory = program.samples_in_memory,
          .batch = batch,
          .batches_ahead = program.prefetch,
          .workers = program.workers.value_or(0)};
}

Context process_on_host(const CompiledModel& model, const BoundStep& bound, const Binding& binding,
                        const Platform& platform, const ProgramRequest& program) {
  const Timeline t = walk(model.step, bound, granule_of(platform.framework));
  const int64_t inputs = t.resident_bytes[static_cast<size_t>(Role::kInput)];
  return process_memory(platform.framework, host_load(model, binding, program, inputs));
}

// Library buffers taken through the allocator for good, one per thread that multiplies matrices.
std::vector<int64_t> library_buffers(const Platform& platform) {
  const auto [bytes, stays] =
      cublas_workspace(platform.framework, platform.device.compute_capability);
  return bytes > 0 && stays ? std::vector<int64_t>{bytes, bytes} : std::vector<int64_t>{};
}

// A program of the user's own that prefetches brings bytes and converts them to floats on the
// device, as timm's and NVIDIA's loaders do (timm/data/loader.py, PrefetchLoader).
void set_loader(ReplayInput& input, int64_t prefetch, const FrameworkProfile& framework) {
  constexpr int64_t kFloatBytes = 4;
  const bool own = prefetch > 0;
  input.prefetch = static_cast<int>(own ? prefetch : framework.prefetched_batches);
  if (input.prefetch > 0) input.loader_stream = 1;
  if (own && !input.inputs.empty()) input.staging = {input.inputs.front() / kFloatBytes};
}

// What an allocator that leaves some of the card alone may have; 0: no such limit.
int64_t pool_capacity(const Platform& platform, const Context& context) {
  const FrameworkProfile& framework = platform.framework;
  if (framework.system_reserve.value == 0) return 0;
  const int64_t free = std::max<int64_t>(0, platform.memory_bytes - context.bytes);
  const auto share =
      static_cast<int64_t>(framework.system_reserve_share * static_cast<double>(free));
  return std::max<int64_t>(1, free - std::max(framework.system_reserve.value, share));
}

ModuleHabits module_habits(const CompiledModel& model, AlgorithmPolicy algorithms, bool shared) {
  return {.backward = model.recipe.mode != Mode::kInference,
          .input_gradient = model.policy.first_layer_data_gradient,
          .own_layers = algorithms == AlgorithmPolicy::kIm2col,
          .shared = shared};
}

RangeRule range_of(const FrameworkProfile& framework) {
  return {.spread = framework.memory_spread};
}

// A plan is made for one step, in which what lives on from step to step is there from the start.
void set_static(ReplayInput& input) {
  input.steps = 1;
  input.resident.insert(input.resident.end(), input.optimizer_state.begin(),
                        input.optimizer_state.end());
  input.optimizer_state.clear();
}

// What a step holds at its peak beside what its modules keep: temporaries that no module names.
void add_unnamed(ReplayInput& input, int64_t peak) {
  int64_t kept = 0;
  for (const auto* list : {&input.resident, &input.inputs, &input.optimizer_state})
    kept = std::accumulate(list->begin(), list->end(), kept);
  if (peak > kept) input.resident.push_back(peak - kept);
}

// What a compiled program holds beside eager's: it keeps what makes a chain's others anew and has
// no names, so mostly less; of ten networks' training in AMP on an A100 .79 to 1.00 times eager's
// peak (pytorch/pytorch#96191, inductor_no_cudagraphs). Upwards, for what a program's buffers
// outlive their last reader, assumed.
constexpr double kCompiledLess = .21, kCompiledMore = .1;

// What passes hold that are replayed: the graphs' own pools keep what the rest of the step cannot
// use. The same ten networks compiled with graphs peak at 1.01 to 1.24 times what they do without
// (the column "inductor" there).
constexpr double kReplayedMore = .24;

void widen_where_compiled(const Recipe& recipe, bool replayed, DeviceMemory& memory) {
  const auto part = [&](bool applies, double share) {
    const double bytes = applies ? share * static_cast<double>(memory.allocated) : 0;
    return static_cast<int64_t>(std::llround(bytes));
  };
  memory.low = std::max<int64_t>(0, memory.low - part(recipe.compiled, kCompiledLess));
  memory.high += part(recipe.compiled, kCompiledMore) + part(replayed, kReplayedMore);
}

// Where memory is short the allocator frees what it keeps, and a step may run as long as its
// tensors fit beside the context: on an H100 33 batches of eight networks ran or failed so.
void widen_where_short(DeviceMemory& memory, int64_t usable) {
  if (memory.device_bytes > usable)
    memory.low = std::min(memory.low, memory.context + memory.allocated);
}

// What a step's replay is of, with one or another plan of scratch memory.
struct Replaying {
  const CompiledModel& model;
  const BoundStep& bound;
  const Platform& platform;
  const ProgramRequest& program;
  const Context& context;
  const DevicePlan& plan;  // with modules and storages
  int64_t capacity = 0;    // of pool_capacity()

  Result<DeviceMemory> with(const WorkspacePlan& scratch, bool with_minimum,
                            LastReplay* last) const {
    const FrameworkProfile& framework = platform.framework;
    ReplayInput input = replay_input(model, bound, scratch, framework, library_buffers(platform),
                                     plan.modules, plan.storages);
    if (plan.modules)
      add_unnamed(input, walk(model.step, bound, granule_of(framework), plan.storages).peak_bytes);
    set_loader(input, program.prefetch, framework);
    if (std::holds_alternative<StaticRules>(platform.allocator)) set_static(input);
    input.timing_empties_cache = framework.autotune_empties_cache;
    input.capacity = capacity;
    return device_memory(input, platform.allocator, context, range_of(framework), with_minimum,
                         last);
  }
};

}  // namespace

int64_t granule_of(const FrameworkProfile& framework) {
  switch (framework.allocator) {
    case FrameworkProfile::Allocator::kPytorchCaching:
      return CachingRules{}.minimum_block;
    case FrameworkProfile::Allocator::kBfc:
      return 256;  // BFCAllocator's kMinAllocationSize
    default:
      return 1;
  }
}

namespace {

struct ByNames {
  int64_t either = 0, more = 0;  // DevicePlan's held_by_names and more_by_names
};

// Names of the code matter while it runs: in inference, and where a training step's forward pass
// takes most, or would if they held what their call made; a file that lists the code's lines says
// how long they hold what.
ByNames by_names(const CompiledModel& model, const BoundStep& bound,
                 const FrameworkProfile& framework, std::span<const BufferId> storages) {
  const int64_t rounded = granule_of(framework);
  const bool inference = model.recipe.mode == Mode::kInference;
  if (!inference && model.names_until.empty()) return {};
  const Timeline timeline = walk(model.step, bound, rounded, storages);
  ByNames found;
  if (inference || timeline.peak_phase == Phase::kForward)
    found.either = largest_value_at_peak(model.step, bound, rounded, timeline);
  if (inference) return found;
  const int64_t named =
      forward_peak_with_names(model.step, bound, rounded, storages, model.names_until);
  if (named - timeline.peak_bytes > found.either) found.more = named - timeline.peak_bytes;
  return found;
}

// What a step takes on a device with one plan of scratch memory, and what it cannot do without.
struct Demand {
  DeviceMemory memory;
  std::optional<GrownMemory> with_room;
};

Result<Demand> demand_of(const Replaying& replaying, const WorkspacePlan& scratch, bool minimum,
                         LastReplay* last) {
  const FrameworkProfile& framework = replaying.platform.framework;
  const bool by_demand = framework.is_judged_by_demand();
  auto memory = TRY(replaying.with(by_demand ? with_chosen_scratch(scratch) : scratch,
                                   minimum || by_demand, last));
  Demand demand{std::move(memory), std::nullopt};
  if (by_demand)
    demand.with_room = take_demand(demand.memory, replaying.context, framework.demand_spread);
  return demand;
}

}  // namespace

Result<DevicePlan> plan_device(const CompiledModel& model, const BoundStep& bound,
                               const Binding& binding, const Platform& platform,
                               const ProgramRequest& program, const WorkspacePlan& workspaces,
                               bool minimum, LastReplay* last) {
  DevicePlan plan;
  const FrameworkProfile& framework = platform.framework;
  if (framework.execution == FrameworkProfile::Execution::kModules)
    plan.modules =
        module_storages(model.graph, binding,
                        module_habits(model, workspaces.algorithm_policy, program.share_storages));
  plan.storages = storages_of(model, bound, framework);
  const Context context = platform.device.is_host
                              ? process_on_host(model, bound, binding, platform, program)
                              : context_on_card(model, bound, platform, program, plan.context);
  const int64_t capacity = pool_capacity(platform, context);
  if (framework.takes_whole_card) plan.taken_bytes = context.bytes + capacity;
  const Replaying replaying{model, bound, platform, program, context, plan, capacity};
  auto chosen = TRY(demand_of(replaying, workspaces, minimum, last));
  // Ranges of what is replayed one by one hold the scratch memory (RangeRule::scale).
  if (workspaces.gives_way && framework.memory_spread > 0) {
    const auto least = TRY(demand_of(replaying, with_least_scratch(workspaces), minimum, nullptr));
    give_way(chosen.memory, least.memory, platform.usable_bytes);
    if (chosen.with_room)
      chosen.with_room->range.low =
          std::min(chosen.with_room->range.low, least.with_room->range.low);
  }
  plan.memory = std::move(chosen.memory);
  plan.grown = chosen.with_room;
  if (framework.python_names) {
    const ByNames names = by_names(model, bound, framework, plan.storages);
    plan.held_by_names = names.either;
    plan.more_by_names = names.more;
  }
  plan.memory.low = std::max<int64_t>(0, plan.memory.low - plan.held_by_names);
  plan.memory.high += std::max(plan.held_by_names, plan.more_by_names);
  widen_where_compiled(model.recipe, program.cuda_graphs, plan.memory);
  plan.memory.low =
      std::max<int64_t>(0, plan.memory.low - model.open_less.evaluate(binding).value_or(0));
  plan.memory.high += model.open_more.evaluate(binding).value_or(0);
  widen_where_short(plan.memory, platform.usable_bytes);
  plan.verdict = verdict_of({plan.memory.low, plan.memory.high}, platform.usable_bytes);
  return plan;
}

namespace {

void set_live(MemoryEstimate& m, const Timeline& t, const CompiledModel& model,
              const Binding& binding) {
  const auto at = [&](Role role) { return t.resident_bytes[static_cast<size_t>(role)]; };
  m.parameter_bytes = at(Role::kParameter);
  m.buffer_bytes = at(Role::kBuffer);
  m.optimizer_state_bytes = at(Role::kOptimizerState);
  m.input_bytes = at(Role::kInput);
  m.gradient_bytes = t.gradient_bytes;
  for (TensorId id = 0; id < model.graph.tensors.size(); ++id) {
    const Tensor& tensor = model.graph.tensors[id];
    const bool weight =
        tensor.kind == TensorKind::kParameter && is_weight(model.weight_roles[id]) && tensor.shape;
    if (weight) m.parameter_count += elements(*tensor.shape).evaluate(binding).value_or(0);
  }
  m.persistent_bytes = t.persistent_bytes;
  m.saved_bytes = t.saved_bytes;
  m.live_peak_bytes = t.peak_bytes;
  m.max_by_role = t.max_by_role;
  m.activations_peak_bytes = t.activations_peak_bytes;
  m.max_temporary = t.max_temporary;
  m.peak_phase = t.peak_phase;
  m.peak_node = t.peak_node == kNoNode ? "" : display_name(model.graph, t.peak_node);
  m.peak_by_role = t.peak_by_role;
}

void set_workspace(MemoryEstimate& m, const WorkspacePlan& workspaces) {
  for (const WorkspaceUse& use : workspaces.uses) {
    m.workspace_bytes = std::max(m.workspace_bytes, use.bytes);
    m.timed_workspace_bytes = std::max(m.timed_workspace_bytes, use.largest);
  }
  m.workspace_basis = workspaces.basis;
  m.max_by_role[static_cast<size_t>(Role::kWorkspace)] = m.workspace_bytes;
}

void set_device(MemoryEstimate& m, const DevicePlan& plan) {
  m.modules = plan.modules;
  m.taken_bytes = plan.taken_bytes;
  m.grown = plan.grown;
  m.allocated_peak_bytes = plan.memory.allocated;
  m.steady_allocated_bytes = plan.memory.steady;
  m.timing_peak_bytes = plan.memory.timing;
  m.reserved_bytes = plan.memory.reserved;
  m.context_bytes = plan.memory.context;
  if (plan.context) {
    m.module_loading = plan.context->loading;
    m.context_basis = plan.context->why;
  }
  m.device_bytes = plan.memory.device_bytes;
  m.device_range = {plan.memory.low, plan.memory.high};
  m.held_by_names = plan.held_by_names;
  m.more_by_names = plan.more_by_names;
  m.verdict = plan.verdict;
}

}  // namespace

MemoryEstimate plan_memory(const CompiledModel& model, const BoundStep& bound,
                           const Binding& binding, const Platform& platform,
                           const ProgramRequest& program, const WorkspacePlan& workspaces,
                           const DevicePlan& plan, bool minimum) {
  MemoryEstimate m;
  const int64_t granule = granule_of(platform.framework);
  set_live(m, walk(model.step, bound, granule, plan.storages), model, binding);
  for (const int64_t bytes : library_buffers(platform)) m.library_bytes += bytes;
  set_workspace(m, workspaces);
  set_device(m, plan);
  if (minimum) m.minimum_bytes = plan.memory.minimum;
  if (const double spread = platform.framework.demand_spread; spread > 0) {
    const auto live = profile(model.step, bound, granule, plan.storages);
    m.steady_range = tensors_range(plan.memory, model.step, live, workspaces, spread);
  }
  const HostMemory host =
      host_memory(platform.framework, host_load(model, binding, program, m.input_bytes));
  m.host_bytes = host.bytes;
  m.host_range = host.range;
  if (platform.device.is_host && host.bytes > 0) {
    m.host_bytes = m.device_bytes;
    m.host_range = m.device_range;
  }
  m.host_asked = program.workers.value_or(0) > 0 || program.samples_in_memory > 0;
  return m;
}

}  // namespace plimsoll
