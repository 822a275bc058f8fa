#include "estimator/memory/timeline.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "graph/base/checked.h"

namespace plimsoll {
namespace {

size_t index(Role role) { return static_cast<size_t>(role); }

// The state that an event changes: bytes by role, and each buffer's role now.
struct Live {
  Live(const Step& s, const BoundStep& b, int64_t g, std::span<const BufferId> taken)
      : step(s), bound(b), granule(g), storages(taken), given(s.buffers.size(), 0) {
    roles.reserve(step.buffers.size());
    for (const Buffer& buffer : step.buffers) roles.push_back(buffer.role);
    for (BufferId id = 0; id < step.buffers.size(); ++id) {
      if (step.buffers[id].resident) add(id, roles[id], 1);
    }
  }

  int64_t size(BufferId id) const { return round_up(bound.buffer_bytes[id], granule); }

  void add(BufferId id, Role role, int64_t sign) {
    by_role[index(role)] += sign * size(id);
    total += sign * size(id);
  }

  void apply(const Event& e) {
    switch (e.kind) {
      case Event::Kind::kAllocate:
        if (!storages.empty() && storages[e.id] != e.id) give(storages[e.id]);
        add(e.id, roles[e.id], 1);
        break;
      case Event::Kind::kFree:
        if (given[e.id] == 0) add(e.id, roles[e.id], -1);
        break;
      case Event::Kind::kBecomeGradient:
        add(e.id, roles[e.id], -1);
        roles[e.id] = Role::kGradient;
        add(e.id, roles[e.id], 1);
        break;
      case Event::Kind::kLaunch:
      case Event::Kind::kIssue:
      case Event::Kind::kAwait:
        break;
    }
  }

  // Its storage is another's from here on.
  void give(BufferId id) {
    given[id] = 1;
    add(id, roles[id], -1);
  }

  const Step& step;
  const BoundStep& bound;
  int64_t granule;
  std::span<const BufferId> storages;
  std::vector<char> given;
  std::vector<Role> roles;
  BytesByRole by_role{};
  int64_t total = 0;
};

}  // namespace

Timeline walk(const Step& step, const BoundStep& bound, int64_t granule,
              std::span<const BufferId> storages) {
  Timeline t;
  Live live(step, bound, granule, storages);
  for (BufferId id = 0; id < step.buffers.size(); ++id) {
    const Buffer& buffer = step.buffers[id];
    if (!buffer.resident) continue;
    t.resident_bytes[index(buffer.role)] += bound.buffer_bytes[id];
    if (buffer.role == Role::kInput) continue;
    t.persistent_by_role[index(buffer.role)] += live.size(id);
  }
  for (const Saved& s : step.saved) t.saved_bytes += live.size(s.buffer);
  t.peak_bytes = live.total;
  t.peak_by_role = live.by_role;
  t.max_by_role = live.by_role;
  for (size_t i = 0; i < step.events.size(); ++i) {
    const Event& e = step.events[i];
    // Gradients that are windows on one storage count it once.
    if (e.kind == Event::Kind::kBecomeGradient && live.roles[e.id] != Role::kGradient) {
      t.gradient_bytes += bound.buffer_bytes[e.id];
      if (step.gradients_stay) t.persistent_bytes += live.size(e.id);
    }
    live.apply(e);
    t.activations_peak_bytes =
        std::max(t.activations_peak_bytes,
                 live.by_role[index(Role::kFeatureMap)] + live.by_role[index(Role::kTemporary)]);
    int64_t& temporary = t.max_temporary[static_cast<size_t>(e.phase)];
    temporary = std::max(temporary, live.by_role[index(Role::kTemporary)]);
    for (size_t r = 0; r < t.max_by_role.size(); ++r) {
      t.max_by_role[r] = std::max(t.max_by_role[r], live.by_role[r]);
    }
    if (live.total > t.peak_bytes) {
      t.peak_bytes = live.total;
      t.peak_event = i;
      t.peak_phase = e.phase;
      t.peak_node = e.node;
      t.peak_by_role = live.by_role;
    }
  }
  t.gradient_bytes += t.resident_bytes[index(Role::kGradient)];
  t.persistent_bytes +=
      std::accumulate(t.persistent_by_role.begin(), t.persistent_by_role.end(), int64_t{0});
  return t;
}

int64_t largest_value_at_peak(const Step& step, const BoundStep& bound, int64_t granule,
                              const Timeline& timeline) {
  std::vector<char> alive(step.buffers.size(), 0);
  for (size_t i = 0; i < step.events.size() && i <= timeline.peak_event; ++i) {
    const Event& e = step.events[i];
    if (e.kind == Event::Kind::kAllocate) alive[e.id] = 1;
    if (e.kind == Event::Kind::kFree) alive[e.id] = 0;
  }
  int64_t largest = 0;
  for (BufferId id = 0; id < step.buffers.size(); ++id) {
    if (alive[id]) largest = std::max(largest, round_up(bound.buffer_bytes[id], granule));
  }
  return largest;
}

int64_t forward_peak_with_names(const Step& step, const BoundStep& bound, int64_t rounding,
                                std::span<const BufferId> storages, std::span<const NodeId> until) {
  using Named = std::pair<NodeId, int64_t>;  // up to which node, bytes
  std::priority_queue<Named, std::vector<Named>, std::greater<>> names;
  int64_t named = 0, peak = 0;
  Live live(step, bound, rounding, storages);
  for (size_t i = 0; i < step.end_of_forward; ++i) {
    const Event& e = step.events[i];
    if (e.phase != Phase::kForward) break;
    while (!names.empty() && names.top().first < e.node) {
      named -= names.top().second;
      names.pop();
    }
    const NodeId maker = e.kind == Event::Kind::kFree ? step.buffers[e.id].node : kNoNode;
    if (maker < until.size() && maker < e.node && until[maker] > e.node && live.given[e.id] == 0) {
      names.emplace(until[maker], live.size(e.id));
      named += live.size(e.id);
    }
    live.apply(e);
    peak = std::max(peak, live.total + named);
  }
  return peak;
}

std::vector<BytesByRole> profile(const Step& step, const BoundStep& bound, int64_t granule,
                                 std::span<const BufferId> storages) {
  std::vector<BytesByRole> rows;
  rows.reserve(step.events.size());
  Live live(step, bound, granule, storages);
  for (const Event& e : step.events) {
    live.apply(e);
    rows.push_back(live.by_role);
  }
  return rows;
}

}  // namespace plimsoll
