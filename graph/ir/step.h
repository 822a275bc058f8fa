// Step: one training (or inference) step as a list of events: storage is allocated and freed,
// kernels are launched. The common product of every way to expand a graph, and all that memory and
// time are computed from.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/kernel.h"
#include "graph/ir/mesh.h"

namespace plimsoll {

enum class Phase : uint8_t { kForward, kLoss, kBackward, kUpdate };
inline constexpr int kPhaseCount = 4;
std::string_view name(Phase phase);

enum class Role : uint8_t {
  kParameter,
  kBuffer,  // statistics of norms and the like: state that is not trained
  kGradient,
  kOptimizerState,
  kInput,       // the batch and its targets
  kFeatureMap,  // kept for the backward pass
  kTemporary,
  kWorkspace,
  kContext,
};
inline constexpr int kRoleCount = 9;
std::string_view name(Role role);

using BufferId = uint32_t;
inline constexpr BufferId kNoBuffer = std::numeric_limits<BufferId>::max();
using KernelId = uint32_t;

// Whose order of work a buffer is in: allocators keep what is free by stream. A record has others.
enum class Stream : uint8_t { kCompute, kGather, kReduce, kHost };

struct Buffer {
  Dim bytes;  // as asked for; allocators round
  Role role = Role::kTemporary;
  NodeId node = kNoNode;  // whose execution allocated it
  bool resident = false;  // alive before the step begins and after it ends
  Stream stream = Stream::kCompute;
  // Free only when the device has come by, up to which a host runs ahead: with the next one that
  // is so (Tensor.record_stream).
  bool late = false;
};

struct Event {
  enum class Kind : uint8_t {
    kAllocate,
    kFree,
    kLaunch,          // id is a KernelId
    kBecomeGradient,  // the buffer is now a parameter's gradient
    kIssue,           // a collective begins; id is its place in Step::collectives
    kAwait,           // ... and the step goes on when it has ended
  };
  Kind kind;
  Phase phase;
  uint32_t id;
  NodeId node;
  bool dispatched = true;  // false: a launch more of the call before it
};

enum class CollectiveKind : uint8_t {
  kAllReduce,
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kSendReceive,  // to the next along the axis, or from the one before
  // Between this device and its host:
  kToHost,
  kFromHost,
  kOnHost,  // work of the host's processors, of so many bytes that they read and write
};
inline bool is_of_host(CollectiveKind kind) { return kind >= CollectiveKind::kToHost; }

// What the devices tell each other, beside the step's kernels from its issue on.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Axis axis = Axis::kData;      // of the mesh: along which devices tell each other
  Dim bytes;                    // of what each device sends, or has after an all-gather
  BufferId buffer = kNoBuffer;  // where they lie, if in one of their own: its memory is not free
                                // before the collective has ended, whoever lets go of it
  bool stays = false;           // of kToHost and kFromHost: until it comes back, what goes is there
  bool joined = false;          // along Axis::kContext and kExpert too (Mesh::joined())
};

// What lies in the host's memory before and after the step.
struct HostBuffer {
  Dim bytes;
  Role role = Role::kOptimizerState;
  bool pinned = false;  // for copies beside the kernels
};

// What autograd keeps at the end of forward, and why.
struct Saved {
  BufferId buffer;
  NodeId node;            // whose backward needs it
  std::string_view rule;  // "relu keeps its result"
};

// A pass that runs again as it stands, as gradients accumulate over many: events [begin, end) are
// written once and stand for `times` passes. Such a pass frees as much as it leaves, of one before;
// or each has storages of its own, and those of the others are allocated and freed before `begin`.
struct Repeat {
  size_t begin = 0, end = 0;
  int64_t times = 1;
  bool apart = false;
};

// Memory that is taken and given back at once.
struct Passing {
  Dim bytes;
  Stream stream = Stream::kCompute;
};

// What a compiler made of the launches of all but the update.
struct Fusion {
  int64_t eager_launches = 0, launches = 0;
  Dim spared = 0;  // bytes that fused kernels no longer move
};

struct Step {
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;  // distinct
  std::vector<Collective> collectives;
  std::vector<HostBuffer> on_host;
  // Residents are not in the list; everything else is allocated and freed here, once each.
  std::vector<Event> events;
  std::vector<Repeat> repeats;  // of events, in their order, apart from each other
  std::vector<Saved> saved;     // one entry per distinct kept storage, first keeper first
  // Before the first kernel of the first of all steps, in this order: FSDP1 takes each unit's whole
  // weights so (init_flat_param_attributes() in torch/distributed/fsdp/_flat_param.py, 2.9).
  std::vector<Passing> at_first{};
  std::vector<Guard> guards;
  // Index in `events` where the loss has been computed and backward begins.
  size_t end_of_forward = 0;
  int64_t parameter_arrays = 0;
  // Gradients live until the next step's forward pass, whoever sets them to none.
  bool gradients_stay = false;
  std::optional<Fusion> fusion;  // where it was compiled
};

// How often each event runs in a step; asked from the first event on.
class EventTimes {
 public:
  explicit EventTimes(const Step& step) : repeats_(step.repeats) {}
  int64_t operator()(size_t event) {
    while (next_ < repeats_.size() && event >= repeats_[next_].end) ++next_;
    return next_ < repeats_.size() && event >= repeats_[next_].begin ? repeats_[next_].times : 1;
  }

 private:
  const std::vector<Repeat>& repeats_;
  size_t next_ = 0;
};

}  // namespace plimsoll
