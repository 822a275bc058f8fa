#include "estimator/memory/memory_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "estimator/memory/demand.h"
#include "estimator/memory/evaluation_memory.h"
#include "estimator/memory/host_memory.h"
#include "estimator/memory/loading_memory.h"
#include "estimator/memory/process_context.h"
#include "estimator/memory/replay_input.h"
#include "estimator/request/platform.h"
#include "estimator/request/trainer.h"
#include "graph/base/try.h"
#include "graph/ir/display_name.h"

namespace plimsoll {
namespace {

HostLoad host_load(const MemoryQuestion& of, int64_t input_bytes) {
  const int64_t batch = batch_at(of.model, of.binding);
  return {.bytes_per_sample = batch > 0 ? input_bytes / batch : 0,
          .samples_in_memory = of.program.samples_in_memory,
          .batch = batch,
          .batches_ahead = of.program.prefetch,
          .workers = of.program.workers.value_or(0)};
}

Context process_on_host(const MemoryQuestion& of) {
  const Timeline t = walk(of.model.step, of.bound, of.behaviour.allocator.rounding);
  const int64_t inputs = t.resident_bytes[static_cast<size_t>(Role::kInput)];
  return process_memory(of.behaviour.process.host, host_load(of, inputs));
}

// A program of the user's own that prefetches brings bytes and converts them to floats on the
// device, as timm's and NVIDIA's loaders do (timm/data/loader.py, PrefetchLoader).
void set_loader(ReplayInput& input, int64_t prefetch, int64_t prefetched_by_framework) {
  constexpr int64_t kFloatBytes = 4;
  const bool own = prefetch > 0;
  input.prefetch = static_cast<int>(own ? prefetch : prefetched_by_framework);
  if (input.prefetch > 0) input.loader_stream = 1;
  if (own && !input.inputs.empty()) input.staging = {input.inputs.front() / kFloatBytes};
}

// What an allocator that leaves some of the card alone may have; 0: no such limit.
int64_t pool_capacity(const Platform& platform, const SystemReserve& reserve,
                      const Context& context) {
  if (reserve.least.value == 0) return 0;
  const int64_t free = std::max<int64_t>(0, platform.memory_bytes - context.bytes);
  return std::max<int64_t>(1, free - reserve.of(free));
}

std::optional<ModuleStorages> modules_of(const MemoryQuestion& of) {
  if (!of.behaviour.allocator.by_modules) return std::nullopt;
  return module_storages(of.model.graph, of.binding,
                         {.backward = of.model.recipe.mode != Mode::kInference,
                          .input_gradient = of.model.policy.first_layer_data_gradient,
                          .own_layers = of.workspaces.algorithm_policy == AlgorithmPolicy::kIm2col,
                          .shared = of.program.share_storages});
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

void widen_where_compiled(const Recipe& recipe, bool replayed, MemoryEstimate& memory) {
  const auto part = [&](bool applies, double share) {
    const double bytes = applies ? share * static_cast<double>(memory.allocated_peak_bytes) : 0;
    return static_cast<int64_t>(std::llround(bytes));
  };
  Range& range = memory.device_range;
  range.low = std::max<int64_t>(0, range.low - part(recipe.compiled, kCompiledLess));
  range.high += part(recipe.compiled, kCompiledMore) + part(replayed, kReplayedMore);
}

void widen_by_program(const MemoryQuestion& of, MemoryEstimate& memory) {
  const MemorySpread* spread = memory_spread(of.program.trainer, of.model.recipe);
  if (!spread) return;
  const auto bytes = static_cast<double>(memory.device_bytes);
  Range& range = memory.device_range;
  range.low = std::min(range.low, static_cast<int64_t>((1 - spread->less) * bytes));
  range.high = std::max(range.high, static_cast<int64_t>((1 + spread->more) * bytes));
}

// Where memory is short the allocator frees what it keeps, and a step may run as long as its
// tensors fit beside the context: on an H100 33 batches of eight networks ran or failed so.
void widen_where_short(MemoryEstimate& memory, int64_t usable) {
  if (memory.device_bytes > usable)
    memory.device_range.low =
        std::min(memory.device_range.low, memory.context_bytes + memory.allocated_peak_bytes);
}

WeightLoading loading_of(const MemoryQuestion& of) {
  return plimsoll::loading_of(of.program.weight_loading, of.model.recipe);
}

// Other frameworks than PyTorch load into what they have planned.
void set_loading(const MemoryQuestion& of, ReplayInput& input) {
  if (of.platform.device.is_host || !of.behaviour.allocator.python_names) return;
  input.loading = loading_events(of.model, of.binding, loading_of(of), input);
}

// What a step's replay is of, with one or another plan of scratch memory.
struct Replaying {
  const MemoryQuestion& of;
  const std::optional<ModuleStorages>& modules;
  const std::vector<BufferId>& storages;
  const Context& context;
  int64_t capacity = 0;  // of pool_capacity()

  // Where a framework is judged by it: what the step cannot do without.
  Result<MemoryEstimate> with(const WorkspacePlan& plan, bool with_minimum,
                              LastReplay* last) const {
    const AllocatorBehaviour& allocator = of.behaviour.allocator;
    const bool by_demand = allocator.is_judged_by_demand();
    const WorkspacePlan& scratch = by_demand ? with_chosen_scratch(plan) : plan;
    ReplayInput input = replay_input(of.model, of.bound, scratch, allocator, modules, storages);
    if (modules)
      add_unnamed(input, walk(of.model.step, of.bound, allocator.rounding, storages).peak_bytes);
    set_loading(of, input);
    if (of.evaluation) input.between = passes_between(*of.evaluation, allocator);
    set_loader(input, of.program.prefetch, allocator.prefetched_batches);
    if (std::holds_alternative<StaticRules>(of.platform.allocator)) set_static(input);
    input.timing_empties_cache = allocator.timing_empties_cache;
    input.capacity = capacity;
    const auto replayed = [&] {
      return device_memory(input, of.platform.allocator, context,
                           {.spread = allocator.memory_spread}, with_minimum || by_demand, last);
    };
    auto memory = TRY(replayed());
    if (memory.loading && memory.device_bytes > of.platform.usable_bytes) {
      input.loading_empties_cache = true;
      memory = TRY(replayed());
    }
    if (memory.loading) memory.loading->live_peak_bytes = loading_peak(input, allocator.rounding);
    if (by_demand) take_demand(memory, context, allocator.demand_spread);
    return memory;
  }
};

// Names of the code matter while it runs: in inference, and where a training step's forward pass
// takes most, or would if they held what their call made; a file that lists the code's lines says
// how long they hold what.
void set_by_names(const MemoryQuestion& of, std::span<const BufferId> storages,
                  MemoryEstimate& memory) {
  const CompiledModel& model = of.model;
  const bool inference = model.recipe.mode == Mode::kInference;
  const int64_t rounding = of.behaviour.allocator.rounding;
  if (!of.behaviour.allocator.python_names) return;
  if (!inference && model.names_until.empty()) return;
  const Timeline timeline = walk(model.step, of.bound, rounding, storages);
  if (inference || timeline.peak_phase == Phase::kForward)
    memory.held_by_names = largest_value_at_peak(model.step, of.bound, rounding, timeline);
  if (inference) return;
  const int64_t named =
      forward_peak_with_names(model.step, of.bound, rounding, storages, model.names_until);
  if (named - timeline.peak_bytes > memory.held_by_names)
    memory.more_by_names = named - timeline.peak_bytes;
}

// What nobody replays: names of the code, a compiler, passes that are replayed, what a file leaves
// open, what a program does besides steps, a card that is full.
void widen(const MemoryQuestion& of, MemoryEstimate& m) {
  Range& range = m.device_range;
  range.low = std::max<int64_t>(0, range.low - m.held_by_names);
  range.high += std::max(m.held_by_names, m.more_by_names);
  widen_where_compiled(of.model.recipe, of.program.cuda_graphs, m);
  range.low = std::max<int64_t>(0, range.low - of.model.open_less.evaluate(of.binding).value_or(0));
  range.high += of.model.open_more.evaluate(of.binding).value_or(0);
  widen_by_program(of, m);
  widen_where_short(m, of.platform.usable_bytes);
}

}  // namespace

Result<MemoryEstimate> plan_device(const MemoryQuestion& of, bool minimum, LastReplay* last) {
  const AllocatorBehaviour& allocator = of.behaviour.allocator;
  const ProcessBehaviour& process = of.behaviour.process;
  auto modules = modules_of(of);
  const std::vector<BufferId> storages = storages_of(of.model, of.bound, allocator);
  const bool on_host = of.platform.device.is_host;
  const Context context =
      on_host ? process_on_host(of)
              : context_on_card(of.model, of.bound, of.platform, process, of.program);
  const int64_t capacity = pool_capacity(of.platform, allocator.system_reserve, context);
  const Replaying replaying{of, modules, storages, context, capacity};
  MemoryEstimate m = TRY(replaying.with(of.workspaces, minimum, last));
  // Ranges of what is replayed one by one hold the scratch memory (RangeRule::scale).
  if (of.workspaces.gives_way && allocator.memory_spread > 0) {
    const auto least = TRY(replaying.with(with_least_scratch(of.workspaces), minimum, nullptr));
    give_way(m, least, of.platform.usable_bytes);
  }
  if (!minimum) m.minimum_bytes.reset();  // a demand was made of it
  m.modules = std::move(modules);
  if (allocator.takes_whole_card) m.taken_bytes = context.bytes + capacity;
  if (!on_host && !of.program.context_bytes && context.high > 0) {
    m.module_loading = process.loading;
    m.context_basis = context_basis(of.platform, process);
  }
  set_by_names(of, storages, m);
  widen(of, m);
  m.verdict = verdict_of(m.device_range, of.platform.usable_bytes);
  return m;
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
  // Until the next step begins.
  if (model.recipe.zero_grad == ZeroGrad::kBefore && !model.step.gradients_stay)
    m.persistent_bytes += t.gradient_bytes;
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

void set_host(const MemoryQuestion& of, MemoryEstimate& m) {
  m.offloaded_bytes = offloaded_bytes(of.model.step, of.bound);
  const HostMemory host = host_memory(of.behaviour.process.host, host_load(of, m.input_bytes));
  m.host_bytes = host.bytes;
  m.host_range = host.range;
  if (of.platform.device.is_host && host.bytes > 0) {
    m.host_bytes = m.device_bytes;
    m.host_range = m.device_range;
  }
  m.host_asked = of.program.workers.value_or(0) > 0 || of.program.samples_in_memory > 0;
}

}  // namespace

void plan_memory(const MemoryQuestion& of, MemoryEstimate& m) {
  const AllocatorBehaviour& allocator = of.behaviour.allocator;
  const std::vector<BufferId> storages = storages_of(of.model, of.bound, allocator);
  const auto timeline_of = [&](const Step& step, const BoundStep& bound,
                               std::span<const BufferId> shared) {
    return walk(step, bound, allocator.rounding, shared);
  };
  const Timeline timeline = timeline_of(of.model.step, of.bound, storages);
  set_live(m, timeline, of.model, of.binding);
  for (const int64_t bytes : allocator.library_buffers) m.library_bytes += bytes;
  set_workspace(m, of.workspaces);
  if (allocator.demand_spread > 0) {
    const auto live = profile(of.model.step, of.bound, allocator.rounding, storages);
    m.steady_range = tensors_range(m.steady_allocated_bytes, of.model.step, live, of.workspaces,
                                   allocator.demand_spread);
  }
  if (m.evaluation) {
    const EvaluationPoint& pass = *of.evaluation;
    const auto shared = storages_of(*pass.model, pass.bound, allocator);
    set_evaluation(pass, timeline_of(pass.model->step, pass.bound, shared), timeline,
                   allocator.rounding, m);
  }
  if (m.loading) set_loading(loading_of(of), m);
  set_host(of, m);
}

}  // namespace plimsoll
