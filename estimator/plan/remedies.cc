#include "estimator/plan/remedies.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/estimator.h"
#include "estimator/plan/largest_batch.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

struct Change {
  std::string settings, effect;
  Request request;
};

std::optional<Remedy> tried(const Change& change, const Hwdb& hwdb) {
  const auto estimated = estimate(change.request, hwdb);
  if (!estimated) return std::nullopt;  // the model, the framework or the card does not allow it
  return Remedy{.settings = change.settings,
                .effect = change.effect,
                .verdict = estimated->memory.verdict,
                .device_bytes = estimated->memory.device_bytes,
                .device_range = estimated->memory.device_range,
                .step_ns = estimated->time.step_ns,
                .samples_per_second = estimated->time.samples_per_second};
}

void change_batch(const Request& request, const Hwdb& hwdb, int64_t batch,
                  std::vector<Change>& changes) {
  const auto largest = largest_batch(request, hwdb, {.max = batch, .rounds = 0});
  if (!largest || largest->answer.safe == 0 || largest->answer.safe >= batch) return;
  const int64_t safe = largest->answer.safe;
  changes.push_back({setting("batch", fmt::to_string(safe)), "largest safe batch", request});
  changes.back().request.batch = safe;
  if (request.recipe.mode != Mode::kTrain || request.recipe.accumulate > 1) return;
  constexpr int64_t kMostPasses = 64;
  for (int64_t passes = 2; passes <= kMostPasses && batch % passes == 0; passes *= 2) {
    if (batch / passes > safe) continue;
    changes.push_back({fmt::format("{} {}", setting("batch", fmt::to_string(batch / passes)),
                                   setting("accumulate", fmt::to_string(passes))),
                       fmt::format("still {} an update", batch), request});
    changes.back().request.batch = batch / passes;
    changes.back().request.recipe.accumulate = passes;
    return;
  }
}

// To 16 bits where the card computes in them.
void change_precision(const Request& request, const Hwdb& hwdb, std::vector<Change>& changes) {
  const auto device = hwdb.device(request.devices.front());
  const PrecisionRow& now = *request.recipe.precision;
  if (!device || now.storage != DType::kFloat32 || now.autocast) return;
  const char* const wanted = device->peak("bf16_tensor") ? "amp-bf16" : "amp-fp16";
  changes.push_back({setting("precision", wanted), "", request});
  changes.back().request.recipe.precision = find_precision(wanted);
}

void change_optimizer(const Request& request, std::vector<Change>& changes) {
  const std::string_view smaller = request.recipe.optimizer->smaller;
  if (smaller.empty()) return;
  changes.push_back({setting("optimizer", smaller), "smaller states", request});
  changes.back().request.recipe.optimizer = find_optimizer(smaller);
  changes.back().request.recipe.published = false;
}

std::vector<Change> changes_of(const Request& request, const Hwdb& hwdb, const Estimate& today) {
  std::vector<Change> changes;
  change_batch(request, hwdb, today.input.batch, changes);
  change_precision(request, hwdb, changes);
  if (request.recipe.mode == Mode::kTrain) {
    change_optimizer(request, changes);
    if (request.recipe.checkpoint == "none") {
      changes.push_back({setting("checkpoint", "blocks"), "recomputes them", request});
      changes.back().request.recipe.checkpoint = "blocks";
    }
  }
  constexpr int64_t kLittleWorkspace = int64_t{64} << 20;
  if (today.memory.workspace_bytes > kLittleWorkspace && !request.workspace_limit) {
    changes.push_back({setting("workspace-limit", "64MiB"), "", request});
    changes.back().request.workspace_limit = kLittleWorkspace;
  }
  if (request.allocator.empty()) {
    changes.push_back({setting("allocator", "expandable_segments:True"), "", request});
    changes.back().request.allocator = "expandable_segments:True";
  }
  return changes;
}

}  // namespace

std::vector<Remedy> remedies(const Request& asked, const Hwdb& hwdb, const Estimate& today) {
  Request request = asked;
  request.trace = request.minimum = false;
  std::vector<Remedy> found;
  for (const Change& change : changes_of(request, hwdb, today)) {
    const auto remedy = tried(change, hwdb);
    if (remedy && remedy->device_bytes < today.memory.device_bytes) found.push_back(*remedy);
  }
  std::ranges::stable_sort(found, [](const Remedy& a, const Remedy& b) {
    if (a.verdict != b.verdict) return a.verdict < b.verdict;
    return a.samples_per_second > b.samples_per_second;
  });
  return found;
}

}  // namespace plimsoll
