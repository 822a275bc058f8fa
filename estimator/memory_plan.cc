#include "estimator/memory_plan.h"

#include <algorithm>

#include "estimator/estimator.h"
#include "estimator/layers.h"

namespace plimsoll {
namespace {

AllocatorRules rules_of(const FrameworkProfile& framework) {
  switch (framework.allocator) {
    case FrameworkProfile::Allocator::kPytorchCaching:
      return CachingRules{};
    case FrameworkProfile::Allocator::kBfc:
      return BfcRules{};
    case FrameworkProfile::Allocator::kMxnetPool:
      return PoolRules{};
    case FrameworkProfile::Allocator::kStatic:
      return StaticRules{};
    case FrameworkProfile::Allocator::kNone:
      return NoAllocator{};
  }
  return NoAllocator{};
}

bool uses_cudnn(const BoundStep& bound) {
  return std::any_of(bound.kernels.begin(), bound.kernels.end(), [](const KernelAt& k) {
    return k.kernel_class == KernelClass::kConv || k.kernel_class == KernelClass::kRecurrent ||
           k.op == "batch_norm";
  });
}

Context context_of(const Platform& platform, const Request& request, const BoundStep& bound) {
  if (request.context_bytes)
    return {*request.context_bytes, *request.context_bytes, *request.context_bytes};
  const ContextRow& row = platform.framework.context_for(platform.device.architecture);
  return {uses_cudnn(bound) ? row.with_cudnn.value : row.plain.value, row.low.value,
          row.high.value};
}

// Library buffers taken through the allocator, one per thread that multiplies matrices.
std::vector<int64_t> library_buffers(const Platform& platform) {
  const bool hopper = platform.device.compute_capability.major == 9;
  const int64_t bytes =
      (hopper ? platform.framework.cublas_workspace_hopper : platform.framework.cublas_workspace)
          .value;
  return bytes > 0 ? std::vector<int64_t>{bytes, bytes} : std::vector<int64_t>{};
}

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

ReplayInput replay_input(const Step& step, const BoundStep& bound, const WorkspacePlan& workspaces,
                         const std::vector<int64_t>& kept_buffers, int64_t prefetched_batches) {
  ReplayInput input;
  std::vector<int32_t> ids(step.buffers.size(), -1);
  int32_t next = 0;
  for (BufferId id = 0; id < step.buffers.size(); ++id) {
    const int64_t bytes = bound.buffer_bytes[id];
    if (!step.buffers[id].resident) {
      ids[id] = next++;
      continue;
    }
    switch (step.buffers[id].role) {
      case Role::kInput:
        input.inputs.push_back(bytes);
        break;
      case Role::kOptimizerState:
        input.optimizer_state.push_back(bytes);
        break;
      default:
        input.resident.push_back(bytes);
        break;
    }
  }
  input.workspaces = workspaces.uses;
  input.kept = kept_buffers;
  input.prefetch = static_cast<int>(prefetched_batches);
  if (prefetched_batches > 0) input.loader_stream = 1;
  bool updating = false;
  bool multiplied[2] = {false, false};
  input.step.reserve(step.events.size());
  const auto push = [&](StepEvent::Kind kind, int32_t id, int64_t bytes) {
    input.step.push_back({.kind = kind, .stream = 0, .id = id, .bytes = bytes});
  };
  for (const Event& e : step.events) {
    if (e.phase == Phase::kUpdate && !updating) {
      updating = true;
      push(StepEvent::Kind::kUpdate, 0, 0);
    }
    if (e.kind == Event::Kind::kAllocate)
      push(StepEvent::Kind::kAllocate, ids[e.id], bound.buffer_bytes[e.id]);
    if (e.kind == Event::Kind::kFree)
      push(StepEvent::Kind::kFree, ids[e.id], bound.buffer_bytes[e.id]);
    if (e.kind != Event::Kind::kLaunch) continue;
    if (e.id < workspaces.uses.size() && workspaces.uses[e.id].bytes > 0) {
      push(StepEvent::Kind::kWorkspace, static_cast<int32_t>(e.id), workspaces.uses[e.id].bytes);
    }
    const size_t thread = e.phase == Phase::kBackward ? 1 : 0;
    const bool multiplies = bound.kernels[e.id].kernel_class == KernelClass::kGemm;
    if (multiplies && !multiplied[thread] && thread < kept_buffers.size()) {
      multiplied[thread] = true;
      push(StepEvent::Kind::kKept, static_cast<int32_t>(thread), kept_buffers[thread]);
    }
  }
  return input;
}

Result<MemoryEstimate> plan_memory(const CompiledModel& model, const BoundStep& bound,
                                   const Platform& platform, const Request& request,
                                   const WorkspacePlan& workspaces, bool with_minimum) {
  MemoryEstimate m;
  const Timeline t = walk(model.step, bound, granule_of(platform.framework));
  const auto at = [&](Role role) { return t.resident_bytes[static_cast<size_t>(role)]; };
  m.parameter_bytes = at(Role::kParameter);
  m.buffer_bytes = at(Role::kBuffer);
  m.optimizer_state_bytes = at(Role::kOptimizerState);
  m.input_bytes = at(Role::kInput);
  m.gradient_bytes = t.gradient_bytes;
  for (TensorId id = 0; id < model.graph.tensors.size(); ++id) {
    const Tensor& tensor = model.graph.tensors[id];
    const bool trained = tensor.kind == TensorKind::kParameter &&
                         model.parameter_kinds[id] == ParameterKind::kTrained && tensor.shape;
    if (trained) m.parameter_count += elements(*tensor.shape).evaluate(model.binding).value_or(0);
  }
  m.saved_bytes = t.saved_bytes;
  m.live_peak_bytes = t.peak_bytes;
  m.max_by_role = t.max_by_role;
  m.peak_phase = t.peak_phase;
  m.peak_node = t.peak_node == kNoNode ? "" : display_name(model.graph, t.peak_node);
  m.peak_by_role = t.peak_by_role;
  const int64_t prefetch =
      request.prefetch > 0 ? request.prefetch : platform.framework.prefetched_batches;
  const ReplayInput input =
      replay_input(model.step, bound, workspaces, library_buffers(platform), prefetch);
  auto device = device_memory(input, rules_of(platform.framework),
                              context_of(platform, request, bound), {}, with_minimum);
  if (!device) return tl::make_unexpected(device.error());
  m.workspace_bytes = device->largest_workspace;
  m.workspace_basis = workspaces.basis;
  m.max_by_role[static_cast<size_t>(Role::kWorkspace)] = device->largest_workspace;
  m.allocated_peak_bytes = device->allocated;
  m.reserved_bytes = device->reserved;
  m.context_bytes = device->context;
  m.device_bytes = device->device_bytes;
  m.device_range = {device->low, device->high};
  m.minimum_bytes = device->minimum;
  return m;
}

}  // namespace plimsoll
