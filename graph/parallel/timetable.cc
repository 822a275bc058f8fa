#include "graph/parallel/timetable.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace plimsoll::parallel {
namespace {

// Where a micro-batch has been, in one direction through a chunk of a stage.
using PassPlace =
    std::tuple<bool, int64_t, int64_t, int64_t>;  // forward, stage, chunk, micro-batch

class Pipeline {
 public:
  Pipeline(const Stage& all, const PassSeconds& seconds) : all_(all), seconds_(seconds) {}

  // When the stage can begin it at the earliest; nothing: what it needs has not been run yet.
  std::optional<double> ready(int64_t stage, const Work& work) const {
    const auto needed = needs(stage, work);
    if (!needed) return 0;
    const auto at = ends_.find(*needed);
    return at == ends_.end() ? std::nullopt : std::optional(at->second);
  }

  double duration(int64_t stage, Pass pass) const {
    const double others = stage == all_.stage ? 1 : seconds_.others;
    return others * seconds_of(pass) / static_cast<double>(all_.chunks);
  }

  void ran(int64_t stage, const Work& work, double end) {
    if (work.pass == Pass::kBackwardWeights) return;
    ends_[{work.pass == Pass::kForward, stage, work.chunk, work.micro_batch}] = end;
  }

 private:
  double seconds_of(Pass pass) const {
    switch (pass) {
      case Pass::kForward:
        return seconds_.forward;
      case Pass::kBackwardData:
        return seconds_.backward - seconds_.weights;
      case Pass::kBackwardWeights:
        return seconds_.weights;
      default:
        return seconds_.backward;
    }
  }

  // The pass of another stage that makes what this one takes. Of its own stage a pass needs only
  // what runs before it in any order.
  std::optional<PassPlace> needs(int64_t stage, const Work& work) const {
    const int64_t last = all_.stages - 1, batch = work.micro_batch, chunk = work.chunk;
    if (work.pass == Pass::kBackwardWeights) return std::nullopt;
    if (work.pass == Pass::kForward) {
      if (stage > 0) return PassPlace{true, stage - 1, chunk, batch};
      if (chunk > 0) return PassPlace{true, last, chunk - 1, batch};
      return std::nullopt;
    }
    if (stage < last) return PassPlace{false, stage + 1, chunk, batch};
    if (chunk + 1 < all_.chunks) return PassPlace{false, 0, chunk + 1, batch};
    return PassPlace{true, stage, chunk, batch};
  }

  const Stage& all_;
  const PassSeconds& seconds_;
  std::map<PassPlace, double> ends_;
};

}  // namespace

std::vector<std::vector<TimedWork>> timetable(Schedule schedule, const Stage& given,
                                              const PassSeconds& seconds) {
  const auto stages = static_cast<size_t>(given.stages);
  std::vector<std::vector<Work>> orders;
  for (int64_t s = 0; s < given.stages; ++s) {
    Stage at = given;
    at.stage = s;
    orders.push_back(order_of(schedule, at));
  }
  std::vector<std::vector<TimedWork>> table(stages);
  Pipeline pipeline(given, seconds);
  for (bool moved = true; std::exchange(moved, false);) {
    for (size_t s = 0; s < stages; ++s) {
      const auto stage = static_cast<int64_t>(s);
      while (table[s].size() < orders[s].size()) {
        const Work& work = orders[s][table[s].size()];
        const std::optional<double> ready = pipeline.ready(stage, work);
        if (!ready) break;
        const double begin = std::max(*ready, table[s].empty() ? 0 : table[s].back().end);
        table[s].push_back({work, begin, begin + pipeline.duration(stage, work.pass)});
        pipeline.ran(stage, work, table[s].back().end);
        moved = true;
      }
    }
  }
  for (size_t s = 0; s < stages; ++s) {
    if (table[s].size() < orders[s].size()) return {};
  }
  return table;
}

}  // namespace plimsoll::parallel
