// What holds of every step, whatever it was made from: told by a walk that knows nothing but its
// events, beside the timeline that is told of it.
//
//   for (const std::string& fault : test::step_faults(step, bound, 512)) FAIL_CHECK(fault);
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "estimator/memory/allocator/allocator.h"
#include "estimator/memory/timeline.h"

namespace plimsoll::test {

class StepWalk {
 public:
  // `granule`: what the timeline was told with.
  StepWalk(const Step& step, const BoundStep& bound, int64_t granule)
      : step_(step), buffers_(step.buffers.size()), collectives_(step.collectives.size(), 0) {
    for (BufferId id = 0; id < buffers_.size(); ++id) {
      const int64_t bytes = (bound.buffer_bytes[id] + granule - 1) / granule * granule;
      buffers_[id].bytes = bytes;
      if (!step.buffers[id].resident) continue;
      persistent_ += bytes;
      asked_.push_back(allocate(static_cast<int32_t>(id), bytes));
    }
    live_ = peak_ = persistent_;
  }

  std::vector<std::string> check(const Timeline& timeline) {
    size_t repeat = 0;
    int64_t before = 0;  // alive where a repeated pass begins
    for (size_t i = 0; i < step_.events.size(); ++i) {
      if (i == step_.end_of_forward) check_saved(timeline);
      if (repeat < step_.repeats.size() && i == step_.repeats[repeat].begin) before = live_;
      apply(i, step_.events[i]);
      if (repeat < step_.repeats.size() && i + 1 == step_.repeats[repeat].end) {
        expect(before == live_ || step_.repeats[repeat].apart, i,
               "a repeated pass leaves memory behind");
        ++repeat;
      }
    }
    expect(repeat == step_.repeats.size(), step_.events.size(), "repeats are not in their order");
    if (step_.end_of_forward == step_.events.size()) check_saved(timeline);
    check_end(timeline);
    return std::move(faults_);
  }

 private:
  struct Seen {
    int64_t bytes = 0;
    bool allocated = false, freed = false;
  };

  void expect(bool holds, size_t event, std::string_view fault) {
    if (!holds) faults_.push_back(fmt::format("event {}: {}", event, fault));
  }

  bool alive(BufferId id) const {
    return step_.buffers[id].resident || (buffers_[id].allocated && !buffers_[id].freed);
  }

  void apply(size_t i, const Event& e) {
    switch (e.kind) {
      case Event::Kind::kAllocate:
        expect(!step_.buffers[e.id].resident, i, "a resident is allocated");
        expect(!buffers_[e.id].allocated, i, "allocated twice");
        buffers_[e.id].allocated = true;
        live_ += buffers_[e.id].bytes;
        asked_.push_back(allocate(static_cast<int32_t>(e.id), buffers_[e.id].bytes));
        break;
      case Event::Kind::kFree:
        expect(!step_.buffers[e.id].resident, i, "a resident is freed");
        expect(alive(e.id), i, "freed, but not alive");
        buffers_[e.id].freed = true;
        live_ -= buffers_[e.id].bytes;
        asked_.push_back(release(static_cast<int32_t>(e.id)));
        break;
      case Event::Kind::kBecomeGradient:
        expect(alive(e.id), i, "a gradient that is not alive");
        break;
      case Event::Kind::kLaunch:
        expect(e.id < step_.kernels.size(), i, "no such kernel");
        break;
      case Event::Kind::kIssue:
        expect(collectives_[e.id]++ == 0, i, "a collective is issued twice");
        break;
      case Event::Kind::kAwait:
        expect(collectives_[e.id]++ == 1, i, "awaited, but not issued or twice");
        break;
    }
    expect(persistent_ <= live_, i, "less is alive than persists");
    peak_ = std::max(peak_, live_);
  }

  void check_saved(const Timeline& timeline) {
    std::vector<char> seen(buffers_.size(), 0);
    int64_t bytes = 0;
    for (const Saved& s : step_.saved) {
      expect(alive(s.buffer), step_.end_of_forward, "kept, but not alive");
      expect(seen[s.buffer]++ == 0, step_.end_of_forward, "kept twice");
      bytes += buffers_[s.buffer].bytes;
    }
    expect(bytes == timeline.saved_bytes, step_.end_of_forward, "other bytes are kept");
  }

  void check_end(const Timeline& timeline) {
    const size_t end = step_.events.size();
    for (BufferId id = 0; id < buffers_.size(); ++id) {
      const bool lived = buffers_[id].allocated && buffers_[id].freed;
      expect(step_.buffers[id].resident || lived, end,
             buffers_[id].allocated ? "never freed" : "never allocated");
    }
    for (const int events : collectives_) expect(events == 2, end, "a collective is not awaited");
    expect(live_ == persistent_, end, "something is left");
    const BytesByRole& roles = timeline.peak_by_role;
    expect(std::accumulate(roles.begin(), roles.end(), int64_t{0}) == timeline.peak_bytes, end,
           "roles do not sum to the peak");
    expect(peak_ == timeline.peak_bytes, end, "another peak");
    if (!faults_.empty()) return;
    const auto replayed = replay(asked_, CachingRules{});
    expect(replayed && peak_ <= replayed->allocated_peak, end, "more is alive than allocated");
    expect(replayed && replayed->allocated_peak <= replayed->reserved_peak, end,
           "more is allocated than reserved");
  }

  const Step& step_;
  std::vector<Seen> buffers_;
  std::vector<int> collectives_;
  int64_t persistent_ = 0, live_ = 0, peak_ = 0;
  Events asked_;  // of PyTorch's allocator
  std::vector<std::string> faults_;
};

inline std::vector<std::string> step_faults(const Step& step, const BoundStep& bound,
                                            int64_t granule) {
  return StepWalk(step, bound, granule).check(walk(step, bound, granule));
}

}  // namespace plimsoll::test
