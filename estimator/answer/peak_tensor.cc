#include "estimator/answer/peak_tensor.h"

#include <algorithm>

#include "estimator/model/compiled_model.h"
#include "graph/base/checked.h"
#include "graph/ir/display_name.h"

namespace plimsoll {
namespace {

struct AtPeak {
  std::vector<Role> roles;
  std::vector<BufferId> alive;
};

AtPeak at_peak(const Step& step, size_t peak_event, std::span<const BufferId> storages) {
  AtPeak at;
  std::vector<char> alive(step.buffers.size(), 0);
  for (BufferId id = 0; id < step.buffers.size(); ++id) {
    at.roles.push_back(step.buffers[id].role);
    alive[id] = step.buffers[id].resident;
  }
  for (size_t i = 0; i < step.events.size() && i <= peak_event; ++i) {
    const Event& e = step.events[i];
    if (e.kind == Event::Kind::kAllocate) {
      if (!storages.empty() && storages[e.id] != e.id) alive[storages[e.id]] = 0;
      alive[e.id] = 1;
    }
    if (e.kind == Event::Kind::kFree) alive[e.id] = 0;
    if (e.kind == Event::Kind::kBecomeGradient) at.roles[e.id] = Role::kGradient;
  }
  for (BufferId id = 0; id < step.buffers.size(); ++id) {
    if (alive[id] != 0) at.alive.push_back(id);
  }
  return at;
}

std::string name_or_none(const Graph& graph, NodeId node) {
  return node == kNoNode ? std::string() : display_name(graph, node);
}

}  // namespace

std::vector<PeakTensor> peak_tensors(const CompiledModel& model, const BoundStep& bound,
                                     int64_t granule, std::span<const BufferId> storages,
                                     size_t most) {
  const Step& step = model.step;
  AtPeak at = at_peak(step, walk(step, bound, granule, storages).peak_event, storages);
  const size_t kept = std::min(most, at.alive.size());
  const auto larger = [&](BufferId a, BufferId b) {
    return bound.buffer_bytes[a] != bound.buffer_bytes[b]
               ? bound.buffer_bytes[a] > bound.buffer_bytes[b]
               : a < b;
  };
  std::partial_sort(at.alive.begin(), at.alive.begin() + static_cast<std::ptrdiff_t>(kept),
                    at.alive.end(), larger);
  std::vector<PeakTensor> tensors;
  for (size_t i = 0; i < kept; ++i) {
    const BufferId id = at.alive[i];
    PeakTensor tensor{.made_by = name_or_none(model.graph, step.buffers[id].node),
                      .role = at.roles[id],
                      .bytes = round_up(bound.buffer_bytes[id], granule),
                      .resident = step.buffers[id].resident,
                      .freed_in = Phase::kUpdate,
                      .freed_by = ""};
    const auto freed = std::find_if(step.events.begin(), step.events.end(), [&](const Event& e) {
      return e.kind == Event::Kind::kFree && e.id == id;
    });
    if (freed != step.events.end()) {
      tensor.freed_in = freed->phase;
      tensor.freed_by = name_or_none(model.graph, freed->node);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace plimsoll
