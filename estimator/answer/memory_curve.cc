#include "estimator/answer/memory_curve.h"

#include <algorithm>
#include <numeric>

#include "estimator/model/compiled_model.h"
#include "graph/ir/display_name.h"

namespace plimsoll {
namespace {

int64_t total_of(const BytesByRole& live) {
  return std::accumulate(live.begin(), live.end(), int64_t{0});
}

bool is_launch(const Event& event) { return event.kind == Event::Kind::kLaunch; }

// Time on the GPU's queue. A pass that runs again as it stands takes its time as often.
class QueueClock {
 public:
  explicit QueueClock(const std::vector<Repeat>& repeats)
      : next_(repeats.begin()), end_(repeats.end()) {}

  void reach(size_t event) {
    if (next_ != end_ && event == next_->end) {
      now_ += (next_->times - 1) * (now_ - since_);
      ++next_;
    }
    if (next_ != end_ && event == next_->begin) since_ = now_;
  }
  void run(int64_t ns) { now_ += ns; }
  int64_t now() const { return now_; }

 private:
  std::vector<Repeat>::const_iterator next_, end_;
  int64_t now_ = 0, since_ = 0;
};

}  // namespace

std::vector<MemoryMoment> memory_curve(const CompiledModel& model, const BoundStep& bound,
                                       const std::vector<KernelPrice>& prices, int64_t granule,
                                       std::span<const BufferId> storages, size_t most) {
  const std::vector<Event>& events = model.step.events;
  const std::vector<BytesByRole> live = profile(model.step, bound, granule, storages);
  const auto all = static_cast<size_t>(std::ranges::count_if(events, is_launch));
  std::vector<MemoryMoment> curve;
  std::vector<NodeId> nodes;
  QueueClock clock(model.step.repeats);
  size_t launches = 0, last_run = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    clock.reach(i);
    MemoryMoment moment{static_cast<int64_t>(launches), clock.now(), events[i].phase, "", live[i]};
    if (is_launch(events[i]))
      moment.live[static_cast<size_t>(Role::kWorkspace)] += prices[events[i].id].workspace_bytes;
    moment.bytes = total_of(moment.live);
    const size_t run = all < most ? launches : launches * (most - 1) / all;
    if (curve.empty() || run != last_run) {
      curve.push_back(moment);
      nodes.push_back(events[i].node);
    } else if (moment.bytes > curve.back().bytes) {
      curve.back() = moment;
      nodes.back() = events[i].node;
    }
    last_run = run;
    if (!is_launch(events[i])) continue;
    clock.run(prices[events[i].id].ns);
    ++launches;
  }
  for (size_t i = 0; i < curve.size(); ++i) {
    if (nodes[i] != kNoNode) curve[i].node = display_name(model.graph, nodes[i]);
  }
  return curve;
}

}  // namespace plimsoll
