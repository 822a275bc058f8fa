#include "estimator/memory/allocator/allocator.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "estimator/memory/allocator/options.h"
#include "graph/base/cancel.h"

namespace plimsoll {
namespace {

using Kind = AllocatorEvent::Kind;

// Larger than any GPU by far; sums of as many such sizes as there are events stay in 64 bits only
// because a live total is checked too.
constexpr int64_t kLargestSize = int64_t{1} << 50, kLargestLive = 64 * kLargestSize;
constexpr int32_t kNotHeld = -1;   // the id has no allocation
constexpr int32_t kNoMemory = -2;  // the id's allocation has no bytes

// NoAllocator as a program.
class DriverAllocator {
 public:
  DriverAllocator(const NoAllocator& rules, int64_t capacity)
      : granule_(rules.granule), capacity_(capacity) {}
  int32_t allocate(int64_t bytes, int /*stream*/) {
    const int64_t size = round_up(bytes, granule_);
    if (size > capacity_ - reserved_) return kNoBlock;
    reserved_ += size;
    sizes_.push_back(size);
    return static_cast<int32_t>(sizes_.size()) - 1;
  }
  void release(int32_t block) {
    reserved_ -= block_size(block);
    ++returned_;
  }
  void empty_cache() {}
  int64_t reserved() const { return reserved_; }
  int64_t needed() const { return reserved_; }
  int64_t block_size(int32_t block) const { return sizes_[static_cast<size_t>(block)]; }
  int64_t segments() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t segments_returned() const { return returned_; }
  int64_t retries() const { return 0; }

 private:
  int64_t granule_, capacity_, reserved_ = 0, returned_ = 0;
  std::vector<int64_t> sizes_;
};

// What an id of the program has.
struct Held {
  int32_t block = kNotHeld;
  int64_t bytes = 0;
};

enum class Fault : uint8_t { kNone, kId, kTwice, kFreed, kBytes, kStream, kTooLarge, kLive };

// Why no program can produce `event` where its ids have `held`, `live` bytes in all.
Fault fault_of(const AllocatorEvent& event, const std::vector<Held>& held, int64_t live) {
  if (event.kind != Kind::kAllocate && event.kind != Kind::kFree) return Fault::kNone;
  const auto id = static_cast<size_t>(event.id);  // beyond every index where it is negative
  if (id >= held.size()) return Fault::kId;
  const bool holds = held[id].block != kNotHeld;
  if (event.kind == Kind::kFree) return holds ? Fault::kNone : Fault::kFreed;
  if (holds) return Fault::kTwice;
  const bool least_in_range =
      event.least >= AllocatorEvent::kRequired && event.least <= event.bytes;
  if (event.bytes < 0 || !least_in_range) return Fault::kBytes;
  if (event.bytes > kLargestSize) return Fault::kTooLarge;
  if (event.stream > 255) return Fault::kStream;
  return live + event.bytes > kLargestLive ? Fault::kLive : Fault::kNone;
}

tl::unexpected<Diagnostics> impossible(size_t position, const AllocatorEvent& event, Fault fault) {
  if (fault == Fault::kTooLarge || fault == Fault::kLive) {
    return error(
        "E232",
        "a step with a tensor of " + std::to_string(event.bytes) +
            " bytes: allocators are simulated up to 1 PiB for one tensor and 64 PiB for all");
  }
  const std::string id = "id " + std::to_string(event.id);
  const auto what = [&]() -> std::string {
    switch (fault) {
      case Fault::kNone:
      case Fault::kTooLarge:
      case Fault::kLive:
        break;
      case Fault::kId:
        return id + " is out of range";
      case Fault::kTwice:
        return id + " is allocated twice";
      case Fault::kFreed:
        return id + " is freed but not allocated";
      case Fault::kBytes:
        return std::to_string(event.bytes) + " bytes are out of range";
      case Fault::kStream:
        return "stream beyond 255";
    }
    return "";
  };
  return error("E902", "allocator event " + std::to_string(position) + ": " + what());
}

template <class Allocator>
class Replayer {
 public:
  Replayer(Allocator allocator, size_t events) : allocator_(std::move(allocator)), held_(events) {}

  Result<Replay> run(std::span<const AllocatorEvent> events) {
    for (size_t i = 0; i < events.size(); ++i) {
      if (const Fault fault = fault_of(events[i], held_, requested_); fault != Fault::kNone) {
        return impossible(i, events[i], fault);
      }
      if (!step(events[i])) {
        result_.out_of_memory = i;
        break;
      }
      result_.reserved_peak = std::max(result_.reserved_peak, allocator_.reserved());
    }
    result_.reserved_end = allocator_.reserved();
    result_.segments = allocator_.segments();
    result_.segments_returned = allocator_.segments_returned();
    result_.retries = allocator_.retries();
    return std::move(result_);
  }

 private:
  bool step(const AllocatorEvent& event) {
    switch (event.kind) {
      case Kind::kAllocate:
        return allocate(event, held_[static_cast<size_t>(event.id)]);
      case Kind::kFree:
        release(held_[static_cast<size_t>(event.id)]);
        return true;
      case Kind::kEmptyCache:
        allocator_.empty_cache();
        return true;
      case Kind::kMark:
        result_.marks.push_back({allocator_.reserved(), allocated_, step_peak_});
        step_peak_ = allocated_;
        return true;
    }
    return true;
  }

  bool allocate(const AllocatorEvent& event, Held& held) {
    held.block = kNoMemory;
    int64_t bytes = event.bytes;
    if (bytes == 0) return true;
    int32_t block = allocator_.allocate(bytes, event.stream);
    if (block == kNoBlock && event.least != AllocatorEvent::kRequired) {
      bytes = event.least;
      if (bytes == 0) return true;
      block = allocator_.allocate(bytes, event.stream);
    }
    if (block == kNoBlock) return false;
    held.block = block;
    held.bytes = bytes;
    allocated_ += allocator_.block_size(block);
    requested_ += bytes;
    result_.allocated_peak = std::max(result_.allocated_peak, allocated_);
    step_peak_ = std::max(step_peak_, allocated_);
    result_.requested_peak = std::max(result_.requested_peak, requested_);
    result_.needed_peak = std::max(result_.needed_peak, allocator_.needed());
    return true;
  }

  void release(Held& held) {
    if (held.block >= 0) {
      allocated_ -= allocator_.block_size(held.block);
      requested_ -= held.bytes;
      allocator_.release(held.block);
    }
    held.block = kNotHeld;
  }

  Allocator allocator_;
  std::vector<Held> held_;
  Replay result_;
  int64_t allocated_ = 0, requested_ = 0, step_peak_ = 0;
};

// The plan is made once, before the program runs.
Result<Replay> replay_plan(std::span<const AllocatorEvent> events, int64_t capacity) {
  std::vector<PlannedTensor> tensors;
  std::vector<Held> held(events.size());  // `block`: index of the tensor
  Replay result;
  int64_t live = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    const AllocatorEvent& event = events[i];
    if (const Fault fault = fault_of(event, held, live); fault != Fault::kNone) {
      return impossible(i, event, fault);
    }
    const auto position = static_cast<int32_t>(i);
    if (event.kind == Kind::kAllocate) {
      held[static_cast<size_t>(event.id)].block = static_cast<int32_t>(tensors.size());
      tensors.push_back({event.bytes, position, static_cast<int32_t>(events.size())});
      live += event.bytes;
      result.requested_peak = std::max(result.requested_peak, live);
    } else if (event.kind == Kind::kFree) {
      int32_t& index = held[static_cast<size_t>(event.id)].block;
      PlannedTensor& tensor = tensors[static_cast<size_t>(std::exchange(index, kNotHeld))];
      tensor.dies = position;
      live -= tensor.bytes;
    } else if (event.kind == Kind::kMark) {
      result.marks.push_back({0, live, result.requested_peak});
    }
  }
  const int64_t bytes = planned_bytes(tensors);
  for (AllocatorState& state : result.marks) state.reserved = bytes;
  result.reserved_peak = result.needed_peak = result.reserved_end = bytes;
  result.allocated_peak = result.requested_peak;
  result.segments = bytes > 0 ? 1 : 0;
  if (bytes > capacity) result.out_of_memory = 0;
  return result;
}

struct Run {
  std::span<const AllocatorEvent> events;
  int64_t capacity;

  Result<Replay> operator()(const NoAllocator& rules) const {
    return with(DriverAllocator(rules, capacity));
  }
  Result<Replay> operator()(const CachingRules& rules) const {
    return with(CachingAllocator(rules, capacity));
  }
  Result<Replay> operator()(const BfcRules& rules) const {
    return with(BfcAllocator(rules, capacity));
  }
  Result<Replay> operator()(const PoolRules& rules) const {
    return with(PoolAllocator(rules, capacity));
  }
  Result<Replay> operator()(StaticRules) const { return replay_plan(events, capacity); }

 private:
  template <class Allocator>
  Result<Replay> with(Allocator allocator) const {
    return Replayer<Allocator>(std::move(allocator), events.size()).run(events);
  }
};

}  // namespace

AllocatorEvent allocate(int32_t id, int64_t bytes, uint16_t stream) {
  return {.kind = Kind::kAllocate, .stream = stream, .id = id, .bytes = bytes};
}
AllocatorEvent release(int32_t id) { return {.kind = Kind::kFree, .id = id}; }
AllocatorEvent empty_cache() { return {.kind = Kind::kEmptyCache}; }
AllocatorEvent mark() { return {.kind = Kind::kMark}; }

Result<Replay> replay(std::span<const AllocatorEvent> events, const AllocatorRules& rules,
                      std::optional<int64_t> capacity) {
  check_cancelled();
  const auto* caching = std::get_if<CachingRules>(&rules);
  if (auto fine = caching ? check(*caching) : Result<void>(); !fine) {
    return tl::unexpected(fine.error());
  }
  const int64_t limit = std::clamp<int64_t>(capacity.value_or(kUnlimited), 0, kUnlimited);
  return std::visit(Run{events, limit}, rules);
}

namespace {

// What the program holds at once where every allocation takes the least that it can do with.
int64_t least_peak(std::span<const AllocatorEvent> events) {
  std::vector<int64_t> held(events.size());
  int64_t live = 0, peak = 0;
  for (const AllocatorEvent& event : events) {
    if (event.kind == Kind::kAllocate) {
      int64_t& bytes = held[static_cast<size_t>(event.id)];
      bytes = event.least >= 0 ? std::min(event.least, event.bytes) : event.bytes;
      live += bytes;
      peak = std::max(peak, live);
    } else if (event.kind == Kind::kFree) {
      live -= std::exchange(held[static_cast<size_t>(event.id)], 0);
    }
  }
  return peak;
}

}  // namespace

Result<int64_t> minimum_capacity(std::span<const AllocatorEvent> events,
                                 const AllocatorRules& rules, int64_t granule,
                                 const Replay* uncapped) {
  Result<Replay> replayed;
  if (!uncapped) {
    replayed = replay(events, rules);
    if (!replayed) return tl::unexpected(replayed.error());
    uncapped = &*replayed;
  }
  // Between a capacity that cannot suffice and one that does.
  int64_t enough = round_up(uncapped->needed_peak, granule) / granule;
  int64_t too_little = round_up(least_peak(events), granule) / granule - 1;
  enough = std::max(enough, too_little + 1);
  const auto runs = [&](int64_t granules) {
    return !std::visit(Run{events, granules * granule}, rules)->out_of_memory;
  };
  // PyTorch's takes more only where it is refused nothing: with as much it does the same again.
  const bool known = std::holds_alternative<CachingRules>(rules);
  while (!known && !runs(enough)) {
    too_little = enough;
    enough = 2 * enough + 1;
  }
  // Often nothing can be given back when it matters: then one run says so.
  for (int64_t next = enough - 1; enough - too_little > 1;
       next = too_little + (enough - too_little) / 2) {
    (runs(next) ? enough : too_little) = next;
  }
  // As much as it takes where nothing is refused suffices too, though it be no whole granules.
  return std::min(enough * granule, std::max(uncapped->reserved_peak, uncapped->needed_peak));
}

}  // namespace plimsoll
