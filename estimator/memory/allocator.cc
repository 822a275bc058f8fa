#include "estimator/memory/allocator.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "estimator/memory/allocator_options.h"

namespace plimsoll {
namespace {

using Kind = AllocatorEvent::Kind;

// Larger than any GPU by far; sums of as many such sizes as there are events stay in 64 bits only
// because a live total is checked against it too.
constexpr int64_t kLargestSize = int64_t{1} << 50;
constexpr int32_t kNotHeld = -1;   // the id has no allocation
constexpr int32_t kNoMemory = -2;  // the id's allocation has no bytes

// NoAllocator as a program.
class DriverAllocator {
 public:
  DriverAllocator(const NoAllocator& rules, int64_t capacity)
      : granule_(rules.granule), capacity_(capacity) {}
  std::optional<int32_t> allocate(int64_t bytes, int /*stream*/) {
    const int64_t size = round_up(bytes, granule_);
    if (size > capacity_ - reserved_) return std::nullopt;
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

struct Held {
  int32_t block = kNotHeld;
  int64_t bytes = 0;
};

tl::unexpected<Diagnostics> impossible(size_t event, const std::string& what) {
  return error("E902", "allocator event " + std::to_string(event) + ": " + what);
}

// Every event's id and sizes are such that replaying cannot go wrong.
Result<void> check(std::span<const AllocatorEvent> events) {
  std::vector<int64_t> held(events.size(), -1);
  int64_t live = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    const AllocatorEvent& event = events[i];
    if (event.kind != Kind::kAllocate && event.kind != Kind::kFree) continue;
    if (event.id < 0 || static_cast<size_t>(event.id) >= events.size()) {
      return impossible(i, "id " + std::to_string(event.id) + " is out of range");
    }
    int64_t& bytes = held[static_cast<size_t>(event.id)];
    if ((event.kind == Kind::kFree) != (bytes >= 0)) {
      return impossible(i, "id " + std::to_string(event.id) +
                               (bytes >= 0 ? " is allocated twice" : " is freed but not held"));
    }
    if (event.kind == Kind::kFree) {
      live -= bytes;
      bytes = -1;
      continue;
    }
    if (event.bytes < 0 || event.bytes > kLargestSize || event.least > event.bytes) {
      return impossible(i, std::to_string(event.bytes) + " bytes are out of range");
    }
    if (event.stream > 255) return impossible(i, "stream beyond 255");
    bytes = event.bytes;
    live += bytes;
    if (live > 64 * kLargestSize) return impossible(i, "the live bytes are out of range");
  }
  return {};
}

template <class Allocator>
class Replayer {
 public:
  Replayer(Allocator allocator, size_t events) : allocator_(std::move(allocator)), held_(events) {}

  Replay run(std::span<const AllocatorEvent> events) {
    for (size_t i = 0; i < events.size(); ++i) {
      if (!step(events[i])) {
        result_.out_of_memory = i;
        break;
      }
      if (allocator_.reserved() > result_.reserved_peak) {
        result_.reserved_peak = allocator_.reserved();
        result_.peak_event = i;
      }
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
        return allocate(event);
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

  bool allocate(const AllocatorEvent& event) {
    Held& held = held_[static_cast<size_t>(event.id)];
    held = {kNoMemory, event.bytes};
    if (event.bytes == 0) return true;
    auto block = allocator_.allocate(event.bytes, event.stream);
    if (!block && event.least != AllocatorEvent::kRequired) {
      ++result_.fallbacks;
      held.bytes = event.least;
      if (event.least == 0) return true;
      block = allocator_.allocate(event.least, event.stream);
    }
    if (!block) return false;
    held.block = *block;
    allocated_ += allocator_.block_size(*block);
    requested_ += held.bytes;
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
    held = {};
  }

  Allocator allocator_;
  std::vector<Held> held_;
  Replay result_;
  int64_t allocated_ = 0, requested_ = 0, step_peak_ = 0;
};

// The plan is made once, before the program runs.
Replay replay_plan(std::span<const AllocatorEvent> events, const StaticRules& rules,
                   int64_t capacity) {
  std::vector<PlannedTensor> tensors;
  std::vector<size_t> tensor_of(events.size());
  Replay result;
  int64_t live = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    const AllocatorEvent& event = events[i];
    const auto position = static_cast<int32_t>(i);
    if (event.kind == Kind::kAllocate) {
      tensor_of[static_cast<size_t>(event.id)] = tensors.size();
      tensors.push_back({event.bytes, position, static_cast<int32_t>(events.size())});
      live += event.bytes;
      result.requested_peak = std::max(result.requested_peak, live);
    } else if (event.kind == Kind::kFree) {
      PlannedTensor& tensor = tensors[tensor_of[static_cast<size_t>(event.id)]];
      tensor.dies = position;
      live -= tensor.bytes;
    } else if (event.kind == Kind::kMark) {
      result.marks.push_back({0, live, result.requested_peak});
    }
  }
  const int64_t bytes = planned_bytes(tensors, rules);
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

  Replay operator()(const NoAllocator& rules) const {
    return with(DriverAllocator(rules, capacity));
  }
  Replay operator()(const CachingRules& rules) const {
    return with(CachingAllocator(rules, capacity));
  }
  Replay operator()(const BfcRules& rules) const { return with(BfcAllocator(rules, capacity)); }
  Replay operator()(const PoolRules& rules) const { return with(PoolAllocator(rules, capacity)); }
  Replay operator()(const StaticRules& rules) const { return replay_plan(events, rules, capacity); }

 private:
  template <class Allocator>
  Replay with(Allocator allocator) const {
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
  if (auto checked = check(events); !checked) return tl::unexpected(checked.error());
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
    return !std::visit(Run{events, granules * granule}, rules).out_of_memory;
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
  return enough * granule;
}

}  // namespace plimsoll
