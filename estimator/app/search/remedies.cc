#include "estimator/app/search/remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "estimator/app/search/advice.h"
#include "estimator/app/search/changes.h"
#include "estimator/estimator.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

// The largest safe batch, and the same batch in several passes.
void change_batch(const Request& request, Trials& trials, int64_t batch,
                  std::vector<Change>& changes) {
  if (batch < 2) return;
  const int64_t safe = trials.largest_batch(request, "", batch);
  if (safe == 0 || safe >= batch) return;
  changes.push_back({setting("batch", fmt::to_string(safe)), "largest safe batch",
                     [safe](Request& r) { r.batch = safe; }});
  if (auto passes = in_passes(request, batch, safe)) changes.push_back(std::move(*passes));
}

std::vector<Change> changes_of(const Request& request, const Hwdb& hwdb, const Estimate& today,
                               Trials& trials) {
  std::vector<Change> changes;
  change_batch(request, trials, today.input.batch, changes);
  for (ChangeKind& kind : stackable_changes(request, hwdb, today))
    std::ranges::move(kind, std::back_inserter(changes));
  static constexpr int64_t kLittleWorkspace = int64_t{64} << 20;
  if (today.memory.workspace_bytes > kLittleWorkspace && !request.workspace_limit) {
    changes.push_back({setting("workspace-limit", "64MiB"), "",
                       [](Request& r) { r.workspace_limit = kLittleWorkspace; }});
  }
  if (request.allocator.empty()) {
    changes.push_back({setting("allocator", "expandable_segments:True"), "",
                       [](Request& r) { r.allocator = "expandable_segments:True"; }});
  }
  return changes;
}

bool helps(const Remedy& remedy, const MemoryEstimate& today) {
  if (remedy.device_bytes >= today.device_bytes) return false;
  return remedy.verdict != today.verdict || saves(remedy.device_bytes, today.device_bytes);
}

}  // namespace

std::vector<Remedy> remedies(const Request& asked, const Hwdb& hwdb, const Estimate& today,
                             ModelCache& models) {
  Request request = asked;
  request.trace = request.minimum = false;
  std::vector<Remedy> found;
  bool keeps_batch = false;
  Trials trials(hwdb, today, models);
  for (const Change& change : changes_of(request, hwdb, today, trials)) {
    Request changed = request;
    change.make(changed);
    const Remedy* remedy = trials.of(changed, change.settings, change.effect);
    if (!remedy || !helps(*remedy, today.memory)) continue;
    found.push_back(*remedy);
    keeps_batch |= changed.batch == request.batch && remedy->verdict == Verdict::kFits;
  }
  if (!keeps_batch) {
    const auto known = [&](const Remedy& stack) {
      return std::ranges::find(found, stack.settings, &Remedy::settings) != found.end();
    };
    for (Remedy& stack : stacks_that_fit(request, hwdb, today, trials)) {
      if (!known(stack)) found.push_back(std::move(stack));
    }
  }
  sort_by_pace(found);
  return found;
}

}  // namespace plimsoll
