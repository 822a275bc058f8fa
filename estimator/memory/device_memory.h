// device_memory: what the driver shows for a training process: its context, and the most that the
// framework's allocator ever took while three steps ran from an empty process. Every part enters
// the replay, for a part added afterwards would miss how it fills or breaks holes.
//
//   ReplayInput input = ...;                       // from a Step at a point
//   MemoryEstimate memory = *device_memory(input, CachingRules{}, {.bytes = 460 << 20});
//   memory.device_bytes; memory.device_range;      // what nvidia-smi shows, 95 % range
//
// Evidence for each rule: three steps, since the optimizer's state is born into the holes of step 0
// and new inputs arrive before old ones die; library buffers and workspaces inside the replay; see
// the comments of the fields.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "estimator/library/workspace_use.h"
#include "estimator/memory/allocator/allocator.h"
#include "estimator/memory/memory_estimate.h"

namespace plimsoll {

struct StepEvent {
  enum class Kind : uint8_t {
    kAllocate,   // tensor `id` of `bytes`
    kFree,       // tensor `id`; before its allocation in the list: it lives on from the last step
    kWorkspace,  // scratch of one launch: allocated and freed at once; `id` indexes `workspaces`
    kKept,       // a library's buffer, `id` indexes `kept`: allocated when first reached, for good
    kUpdate,     // the optimizer steps: its temporaries, and in step 0 its state, are born here
  };
  Kind kind = Kind::kAllocate;
  uint16_t stream = 0;
  int32_t id = 0;
  int64_t bytes = 0;
  bool operator==(const StepEvent&) const = default;
};

// Passes that run behind the last step with what stays of it, over batches of their own; another
// step follows.
struct PassesBetween {
  std::vector<int64_t> inputs;    // of one pass, targets included
  std::vector<StepEvent> events;  // of one pass; tensor ids dense from 0
  std::vector<WorkspaceUse> workspaces;
  std::vector<int64_t> left{};  // by the step before, until the passes are over
  int64_t outputs = 0;          // bytes that a pass hands to who gathers them
  int64_t gathered =
      0;  // passes whose outputs are gathered, joined with those of the passes before
  bool operator==(const PassesBetween&) const = default;
};

struct ReplayInput {
  std::vector<int64_t> resident;  // parameters and buffers, in the order of their creation
  std::vector<int64_t> inputs;    // of one step, targets included
  // Before all others, how residents come to be: kKept is the resident of that number, in place of
  // a birth of its own behind these events; other tensors' ids are dense from 0.
  std::vector<StepEvent> loading{};
  // What loading left behind unused is given back, as an allocator does where memory is short.
  bool loading_empties_cache = false;
  std::vector<StepEvent> step;  // one steady step; tensor ids dense from 0
  // Before the first step, each freed at once: bytes and stream of allocations, no ids.
  std::vector<StepEvent> at_first{};
  std::vector<WorkspaceUse> workspaces;
  bool timing_empties_cache = true;  // as PyTorch does when it has timed a problem (Conv_v8.cpp)
  std::vector<int64_t> kept;
  std::vector<int64_t> optimizer_state;  // in the order of creation
  // The loader: batches held ready beyond the current one, and what it stages them in (bytes before
  // they become floats). A loader that prefetches works on a stream of its own.
  int prefetch = 0;
  uint16_t loader_stream = 0;
  std::vector<int64_t> staging;
  int steps = 3;
  // What the device has for the allocator, where that shapes what it takes; 0: no matter.
  int64_t capacity = 0;
  std::optional<PassesBetween> between{};
  bool operator==(const ReplayInput&) const = default;
};

// Memory of a process before it allocates: a fact of card, driver and framework, never derivable.
struct Context {
  int64_t bytes = 0;
  int64_t low = 0, high = 0;  // 95 % range where it is not exactly known; 0: as `bytes`
};

// Half-width of the 95 % range beside the context's own: scale * (share * device_bytes + largest
// workspace that is not exact), or plain_share * device_bytes where there is none. Split conformal,
// five folds by network: timm on A100 and calibrate/measure on H100 and H200, 340 runs, coverage
// 95.6 % (scales of 2.0 to 2.2); multi-layer perceptrons, 379 runs, 95.0 %.
// `spread`, where it is not 0, is that half-width itself, as a share of what the allocator
// reserves.
struct RangeRule {
  double scale = 2.1;
  double share = 0.02;
  double plain_share = 0.013;
  double spread = 0;
};

// The last program that was replayed, by one set of rules, and what came of it: many cards ask for
// the same.
struct LastReplay {
  ReplayInput input{};
  std::optional<Replay> replay{};
};

// The program of all steps, as an allocator sees it. E902 for ids out of range.
Result<Events> replay_events(const ReplayInput& input);

// Of an estimate what comes of the replay: context, peaks of the allocator's segments and of its
// blocks in use, workspace included, what the driver shows with its range, and with `with_minimum`
// the smallest device in which all steps still run. Where timing plans empties the cache, what it
// took is given back: peaks are those that stay. Errors as replay(). `last` gets the replay, or
// saves it. Cost: one replay, and some ten more for `with_minimum`.
Result<MemoryEstimate> device_memory(const ReplayInput& input, const AllocatorRules& rules,
                                     const Context& context, const RangeRule& range = {},
                                     bool with_minimum = false, LastReplay* last = nullptr);

}  // namespace plimsoll
