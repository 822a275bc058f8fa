// allocator: frameworks' device allocators as programs. A stream of events goes in; what the
// allocator would have taken from the device comes out, and the place where it would have failed.
//
//   const Events events = {allocate(0, 100 << 20), allocate(1, 4096), release(0)};
//   Replay uncapped = *replay(events, CachingRules{});          // reserved_peak 106954752
//   int64_t least = *minimum_capacity(events, CachingRules{});  // smallest device that still runs
//   it
//
// A replay depends on its arguments only. The rules of each allocator, with their sources, stand in
// its own header.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "estimator/memory/allocator/bfc.h"
#include "estimator/memory/allocator/caching.h"
#include "estimator/memory/allocator/pool.h"
#include "estimator/memory/allocator/static_planner.h"
#include "graph/base/diagnostic.h"

namespace plimsoll {

struct AllocatorEvent {
  enum class Kind : uint8_t {
    kAllocate,
    kFree,
    kEmptyCache,  // give every unused segment back to the device
    kMark,        // record the state, see Replay::marks
  };
  static constexpr int64_t kRequired = -1;

  Kind kind = Kind::kAllocate;
  uint16_t stream = 0;  // allocations of different streams do not share cached memory
  int32_t id = 0;       // dense from 0; may be used again after it was freed
  int64_t bytes = 0;    // as asked for; the allocator rounds
  // Where the allocation fails, this many bytes do (a plan with a smaller workspace; 0: none at
  // all). kRequired: the program ends there.
  int64_t least = kRequired;
};
using Events = std::vector<AllocatorEvent>;

AllocatorEvent allocate(int32_t id, int64_t bytes, uint16_t stream = 0);
AllocatorEvent release(int32_t id);
AllocatorEvent empty_cache();
AllocatorEvent mark();

// Every tensor straight from the driver.
struct NoAllocator {
  int64_t granule = 512;  // cudaMalloc's alignment
};

// A plan of the whole program, made before it runs.
struct StaticRules {};

using AllocatorRules = std::variant<NoAllocator, CachingRules, BfcRules, PoolRules, StaticRules>;

struct AllocatorState {
  int64_t reserved = 0;        // taken from the device
  int64_t allocated = 0;       // in blocks handed out: an unsplit rest counts
  int64_t allocated_peak = 0;  // since the mark before
};

// Bytes throughout.
struct Replay {
  int64_t reserved_peak = 0;
  int64_t allocated_peak = 0;
  int64_t requested_peak = 0;  // of what the events asked for, unrounded
  // Highest memory ever touched: below reserved_peak where an allocator takes the whole card at
  // once and then needs only a part of it.
  int64_t needed_peak = 0;
  int64_t reserved_end = 0;
  int64_t segments = 0;           // obtained from the device
  int64_t segments_returned = 0;  // given back to it
  int64_t retries = 0;            // requests that needed cached memory to be given back first
  std::optional<size_t> out_of_memory =
      std::nullopt;                   // index of the event that failed; nothing after it counts
  std::vector<AllocatorState> marks;  // one per kMark
};

// What `rules` do with `events` on a device with `capacity` bytes for them (none: unlimited).
// E902 for events that no program can produce, where they are reached: a free without its
// allocation, a negative size, an id beyond the number of events. E232 for sizes beyond all
// devices. E161 for options that the framework refuses. Cost: about 0.05 us per event.
Result<Replay> replay(std::span<const AllocatorEvent> events, const AllocatorRules& rules,
                      std::optional<int64_t> capacity = std::nullopt);

// The smallest capacity, to `granule` bytes, at which replay() reaches the end. Nothing is assumed
// but that more memory does not hurt near the answer; searched between the live peak and the
// reserved peak without a capacity (`uncapped`, where the caller has it). Cost: up to some ten
// replays.
Result<int64_t> minimum_capacity(std::span<const AllocatorEvent> events,
                                 const AllocatorRules& rules, int64_t granule = 2 << 20,
                                 const Replay* uncapped = nullptr);

}  // namespace plimsoll
