#include "estimator/memory/replay_input.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "estimator/memory/in_place.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

// Blobs that gradients of feature maps take in turn, chosen by name before their sizes are known:
// the one that was let go of last (caffe2/python/memonger.py: share_grad_blobs). Each grows to the
// largest that it ever holds. A parameter's gradient has a blob of its own.
class SharedBlobs {
 public:
  SharedBlobs(const Step& step, const std::vector<int64_t>& bytes)
      : of_(step.buffers.size(), kNone) {
    std::vector<bool> stays(step.buffers.size(), true);
    for (const Event& e : step.events) {
      if (e.kind == Event::Kind::kAllocate && e.phase == Phase::kBackward) stays[e.id] = false;
      if (e.kind == Event::Kind::kBecomeGradient) stays[e.id] = true;
    }
    std::vector<size_t> idle;
    for (const Event& e : step.events) {
      if (e.kind == Event::Kind::kAllocate && !stays[e.id]) {
        if (idle.empty()) {
          idle.push_back(sizes_.size());
          sizes_.push_back(0);
        }
        of_[e.id] = idle.back();
        idle.pop_back();
        sizes_[of_[e.id]] = std::max(sizes_[of_[e.id]], bytes[e.id]);
      }
      if (e.kind == Event::Kind::kFree && of_[e.id] != kNone) idle.push_back(of_[e.id]);
    }
  }

  bool holds(BufferId id) const { return of_[id] != kNone; }
  const std::vector<int64_t>& sizes() const { return sizes_; }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  std::vector<size_t> of_;  // by buffer
  std::vector<int64_t> sizes_;
};

// Values and their gradients, as opposed to parameters' gradients and the optimizer's temporaries.
// A recurrent layer's are not among them: it keeps more than modules do.
std::vector<bool> values_and_gradients(const Step& step, const BoundStep& bound, size_t nodes) {
  std::vector<bool> recurrent(nodes, false);
  for (const Event& e : step.events) {
    const bool launch = e.kind == Event::Kind::kLaunch && e.node != kNoNode;
    if (launch && bound.kernels[e.id].kernel_class == KernelClass::kRecurrent)
      recurrent[e.node] = true;
  }
  std::vector<bool> values(step.buffers.size(), false);
  for (const Event& e : step.events) {
    const bool part = e.phase == Phase::kForward || e.phase == Phase::kBackward;
    const bool module = e.node == kNoNode || !recurrent[e.node];
    if (e.kind == Event::Kind::kAllocate && part && module) values[e.id] = true;
    if (e.kind == Event::Kind::kBecomeGradient) values[e.id] = false;
  }
  return values;
}

class Writer {
 public:
  Writer(const CompiledModel& model, const BoundStep& bound, const WorkspacePlan& workspaces,
         const AllocatorBehaviour& allocator, const std::optional<ModuleStorages>& modules,
         std::vector<BufferId> storages)
      : graph_(model.graph),
        step_(model.step),
        bound_(bound),
        workspaces_(workspaces),
        allocator_(allocator),
        modules_(modules),
        recorded_(model.recorded),
        state_first_(!model.recipe.optimizer->states_of_gradients),
        keeps_all_(allocator.keeps_storages),
        source_(std::move(storages)),
        taken_(source_.size(), false) {
    for (BufferId id = 0; id < source_.size(); ++id) {
      if (source_[id] != id) taken_[source_[id]] = true;
    }
  }

  ReplayInput write() {
    place_buffers();
    if (recorded_) carry_over();
    place_workspaces();
    for (size_t i = 0; i < step_.at_first.size(); ++i)
      input_.at_first.push_back(
          {.stream = number_of(step_.at_first[i].stream), .bytes = bound_.at_first_bytes[i]});
    input_.kept = allocator_.library_buffers;
    input_.step.reserve(step_.events.size());
    for (const Event& event : step_.events) add(event);
    if (late_ != kNoBuffer)
      push(StepEvent::Kind::kFree, ids_[storage(late_)], bound_.buffer_bytes[late_]);
    return std::move(input_);
  }

 private:
  void place_buffers() {
    ids_.assign(step_.buffers.size(), -1);
    std::optional<SharedBlobs> shared;
    std::vector<bool> in_modules(step_.buffers.size(), false);
    if (modules_) {
      in_modules = values_and_gradients(step_, bound_, graph_.nodes.size());
      input_.resident.push_back(
          std::llround(modules_->outputs + modules_->gradients + modules_->buffers));
    }
    if (keeps_all_ && !allocator_.keeps_activation_gradients) {
      shared.emplace(step_, bound_.buffer_bytes);
      for (const int64_t bytes : shared->sizes()) input_.resident.push_back(bytes);
    }
    int32_t next = 0;
    for (BufferId id = 0; id < step_.buffers.size(); ++id) {
      if (!step_.buffers[id].resident) {
        if (source_[id] == id) ids_[id] = next++;  // one for each storage that the step allocates
        if (keeps_all_ && source_[id] == id && !in_modules[id] && !(shared && shared->holds(id)))
          input_.resident.push_back(kept_bytes(id));
        continue;
      }
      const Role role = step_.buffers[id].role;
      auto& list = role == Role::kInput            ? input_.inputs
                   : role == Role::kOptimizerState ? input_.optimizer_state
                                                   : input_.resident;
      list.push_back(bound_.buffer_bytes[id]);
    }
  }

  // What the step before has left is freed where it was allocated there.
  void carry_over() {
    const std::vector<BufferId> successor = carried_over(step_, bound_.buffer_bytes);
    carried_.assign(successor.size(), false);
    for (BufferId id = 0; id < successor.size(); ++id) {
      if (successor[id] == kNoBuffer) continue;
      ids_[id] = ids_[successor[id]];
      carried_[id] = carried_[successor[id]] = true;
      left_.insert(id);
    }
  }

  // Whether the event is none to the allocator: one step's end is the next one's beginning.
  bool joins_steps(const Event& e) const {
    const bool storage = e.kind == Event::Kind::kAllocate || e.kind == Event::Kind::kFree;
    if (!storage || carried_.empty() || !carried_[e.id]) return false;
    return left_.contains(e.id) == (e.kind == Event::Kind::kAllocate);
  }

  // A layer's blob; Caffe's batch norm works in place and keeps others of its size.
  int64_t kept_bytes(BufferId id) const {
    const NodeId node = step_.buffers[id].node;
    const bool norm = node != kNoNode && is_batch_norm(graph_.nodes[node]);
    return bound_.buffer_bytes[id] * (norm ? allocator_.norm_buffers : 1);
  }

  // Scratch that does not pass through the allocator is there from the start.
  void place_workspaces() {
    if (allocator_.scratch_home == WorkspaceHome::kAllocator) {
      input_.workspaces = workspaces_.uses;
      return;
    }
    int64_t largest = 0;
    std::map<NodeId, int64_t> own;
    for (const Event& e : step_.events) {
      if (e.kind != Event::Kind::kLaunch || workspaces_.uses[e.id].bytes == 0) continue;
      const int64_t bytes = workspaces_.uses[e.id].bytes;
      largest = std::max(largest, bytes);
      own[e.node] = std::max(own[e.node], bytes * allocator_.scratch_copies);
    }
    if (allocator_.scratch_home == WorkspaceHome::kShared) {
      if (largest > 0) input_.resident.push_back(largest);
      return;
    }
    for (const auto& [node, bytes] : own) input_.resident.push_back(bytes);
  }

  void push(StepEvent::Kind kind, int32_t id = 0, int64_t bytes = 0, uint16_t stream = 0) {
    input_.step.push_back({.kind = kind, .stream = stream, .id = id, .bytes = bytes});
  }

  // A loader has the first beside the kernels'.
  static uint16_t number_of(Stream stream) {
    return stream == Stream::kCompute ? 0 : static_cast<uint16_t>(stream) + 1;
  }

  BufferId storage(BufferId id) const {
    while (source_[id] != id) id = source_[id];
    return id;
  }

  void add(const Event& e) {
    if (joins_steps(e)) return;
    const bool born_now = state_first_ || e.kind == Event::Kind::kLaunch;
    if (e.phase == Phase::kUpdate && !updating_ && born_now) {
      updating_ = true;
      push(StepEvent::Kind::kUpdate);
    }
    if (e.kind == Event::Kind::kAllocate && source_[e.id] == e.id && !keeps_all_)
      push(StepEvent::Kind::kAllocate, ids_[e.id], bound_.buffer_bytes[e.id],
           number_of(step_.buffers[e.id].stream));
    if (e.kind == Event::Kind::kFree && !taken_[e.id] && !keeps_all_) free(e.id);
    if (e.kind == Event::Kind::kLaunch) launch(e);
  }

  void free(BufferId id) {
    if (step_.buffers[id].late) std::swap(id, late_);
    if (id != kNoBuffer) push(StepEvent::Kind::kFree, ids_[storage(id)], bound_.buffer_bytes[id]);
  }

  // A sum has a blob of its own, though PyTorch's model adds in place.
  void keep_sum(const Event& e) {
    if (!keeps_all_ || modules_) return;
    const bool sum = e.phase == Phase::kForward && e.node != kNoNode &&
                     is_sum(graph_.nodes[e.node]) && graph_.nodes[e.node].notes.in_place != 0;
    if (sum) input_.resident.push_back(bound_.kernels[e.id].written);
  }

  void launch(const Event& e) {
    keep_sum(e);
    if (e.id < input_.workspaces.size()) {
      const WorkspaceUse& use = input_.workspaces[e.id];
      if (use.bytes > 0 || use.largest > 0)
        push(StepEvent::Kind::kWorkspace, static_cast<int32_t>(e.id), use.bytes);
    }
    const size_t thread = e.phase == Phase::kBackward ? 1 : 0;
    const bool multiplies = bound_.kernels[e.id].kernel_class == KernelClass::kGemm;
    if (multiplies && !multiplied_[thread] && thread < input_.kept.size()) {
      multiplied_[thread] = true;
      push(StepEvent::Kind::kKept, static_cast<int32_t>(thread), input_.kept[thread]);
    }
  }

  const Graph& graph_;
  const Step& step_;
  const BoundStep& bound_;
  const WorkspacePlan& workspaces_;
  const AllocatorBehaviour& allocator_;
  const std::optional<ModuleStorages>& modules_;
  bool recorded_;
  bool state_first_;
  bool keeps_all_;
  std::vector<BufferId> source_;  // by buffer: whose storage it takes over, or itself
  std::vector<bool> taken_;       // by buffer: another one takes its storage over
  std::vector<int32_t> ids_;      // by buffer: id in the program
  std::vector<bool> carried_;     // by buffer: lives from one step into the next
  std::set<BufferId> left_;       // ... from the one before
  BufferId late_ = kNoBuffer;     // was let go of, and is free with the next such
  bool updating_ = false;
  bool multiplied_[2] = {false, false};
  ReplayInput input_;
};

}  // namespace

std::vector<BufferId> storages_of(const CompiledModel& model, const BoundStep& bound,
                                  const AllocatorBehaviour& allocator) {
  return storage_taken(model.graph, model.step, bound.buffer_bytes, allocator.in_place);
}

ReplayInput replay_input(const CompiledModel& model, const BoundStep& bound,
                         const WorkspacePlan& workspaces, const AllocatorBehaviour& allocator,
                         const std::optional<ModuleStorages>& modules,
                         std::vector<BufferId> storages) {
  return Writer(model, bound, workspaces, allocator, modules, std::move(storages)).write();
}

}  // namespace plimsoll
