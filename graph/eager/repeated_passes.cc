#include "graph/eager/repeated_passes.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

namespace plimsoll::eager {
namespace {

bool is_storage_event(const Event& e) {
  return e.kind == Event::Kind::kAllocate || e.kind == Event::Kind::kFree ||
         e.kind == Event::Kind::kBecomeGradient;
}

// What a pass leaves, what it frees of passes before it, and its gradients.
struct PassStorages {
  std::set<BufferId> left, freed, gradients;
};

PassStorages storages_of(std::span<const Event> pass) {
  PassStorages of;
  for (const Event& e : pass) {
    if (e.kind == Event::Kind::kBecomeGradient) of.gradients.insert(e.id);
    if (e.kind == Event::Kind::kAllocate) of.left.insert(e.id);
    if (e.kind == Event::Kind::kFree && of.left.erase(e.id) == 0) of.freed.insert(e.id);
  }
  return of;
}

}  // namespace

bool leaves_what_it_frees(const Step& step, size_t begin) {
  const PassStorages of = storages_of(std::span(step.events).subspan(begin));
  const auto stays = [&](BufferId id) { return of.left.contains(id); };
  if (const auto left = std::ranges::count_if(of.gradients, stays); left > 0) {
    const std::set<BufferId> all = storages_of(step.events).gradients;
    const auto older = [&](BufferId id) { return all.contains(id); };
    if (std::ranges::count_if(of.freed, older) != left) return false;
  }
  // Whichever of a pass's is older: as many of each size and stream.
  std::map<Dim, std::map<Stream, int64_t>, StructureOrder> more;
  for (const BufferId id : of.left) ++more[step.buffers[id].bytes][step.buffers[id].stream];
  for (const BufferId id : of.freed) --more[step.buffers[id].bytes][step.buffers[id].stream];
  return std::ranges::all_of(more, [](const auto& size) {
    return std::ranges::all_of(size.second, [](const auto& stream) { return stream.second == 0; });
  });
}

std::span<const BufferId> PassCopies::of(BufferId id) const {
  const auto at = left_.find(id);
  return at == left_.end() ? std::span<const BufferId>() : at->second;
}

bool PassCopies::write(Step& step, size_t begin, int64_t copies) {
  const auto from = static_cast<std::ptrdiff_t>(begin);
  const std::vector<Event> pass(step.events.begin() + from, step.events.end());
  auto [left, freed, gradients] = storages_of(pass);
  // What the next pass frees of this one, by what this one frees of the pass before.
  std::map<BufferId, BufferId> handed_on;
  for (const BufferId id : freed) {
    if (left_.contains(id)) continue;
    const Buffer& older = step.buffers[id];
    const auto alike = std::ranges::find_if(left, [&](BufferId newer) {
      const Buffer& b = step.buffers[newer];
      return b.bytes == older.bytes && b.stream == older.stream;
    });
    if (alike == left.end()) return false;
    handed_on[id] = *alike;
    left.erase(alike);
  }
  std::map<BufferId, BufferId> before;  // ... of the copy before
  for (const auto& [id, newer] : handed_on) before[id] = id;
  Copies kept;
  std::vector<Event> written;
  for (size_t copy = 0; copy < static_cast<size_t>(copies); ++copy) {
    std::unordered_map<BufferId, BufferId> mine;
    for (Event e : pass) {
      if (!is_storage_event(e)) continue;
      if (e.kind == Event::Kind::kAllocate) {
        mine[e.id] = static_cast<BufferId>(step.buffers.size());
        step.buffers.push_back(Buffer(step.buffers[e.id]));
      }
      if (const auto at = mine.find(e.id); at != mine.end()) {
        e.id = at->second;
      } else if (const auto of = left_.find(e.id); of != left_.end()) {
        e.id = of->second[copy];
      } else if (const auto older = before.find(e.id); older != before.end()) {
        e.id = older->second;
      }
      written.push_back(e);
    }
    for (const auto& [id, newer] : handed_on) before[id] = mine.at(newer);
    for (const BufferId id : left) kept[id].push_back(mine.at(id));
  }
  for (size_t i = begin; i < step.events.size(); ++i) {
    Event& e = step.events[i];
    const auto older = is_storage_event(e) ? before.find(e.id) : before.end();
    if (older != before.end()) e.id = older->second;
  }
  step.events.insert(step.events.begin() + from, written.begin(), written.end());
  for (const BufferId id : freed) left_.erase(id);
  left_.merge(kept);
  return true;
}

}  // namespace plimsoll::eager
