#include "estimator/app/search/advice.h"

#include <algorithm>
#include <map>

#include "estimator/answer/on_host.h"
#include "estimator/app/search/changes.h"
#include "estimator/app/search/unbeaten.h"
#include "estimator/estimator.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

std::string joined(const std::string& first, const std::string& second, const char* between) {
  return first.empty() || second.empty() ? first + second : first + between + second;
}

class StackSearch {
 public:
  // `only_fitting`: others need not be found.
  StackSearch(Trials& trials, std::vector<ChangeKind> kinds, const Estimate& today,
              bool only_fitting)
      : trials_(trials),
        kinds_(std::move(kinds)),
        batch_(today.input.batch),
        fits_already_(today.memory.verdict == Verdict::kFits),
        only_fitting_(only_fitting) {}

  // The request with one change more, of the kinds from `next` on; `bytes`: what it needs as it is.
  void extend(const Request& request, const Change& so_far, int64_t bytes, size_t next) {
    if (only_fitting_ && cannot_fit(request, so_far, next)) return;
    for (size_t kind = next; kind < kinds_.size(); ++kind) {
      for (const Change& change : kinds_[kind]) {
        Request changed = request;
        change.make(changed);
        const Change both = with(so_far, change);
        if (const auto too_much = needs_too_much(changed, both)) {
          if (saves(*too_much, bytes)) go_on(changed, both, *too_much, kind + 1, false);
          continue;
        }
        const Remedy* remedy = trials_.of(changed, both.settings, both.effect);
        if (!remedy || !saves(remedy->device_bytes, bytes)) continue;
        add(*remedy, changed);
        const bool fits = remedy->verdict == Verdict::kFits;
        go_on(changed, both, remedy->device_bytes, kind + 1, fits);
      }
    }
  }

  // The same batch in passes that fit.
  void add_passes(const Request& request, const Change& so_far) {
    if (!in_passes(request, batch_, batch_ - 1)) return;
    const int64_t safe = trials_.largest_batch(request, so_far.settings, batch_);
    if (safe == 0) return;
    const auto passes = in_passes(request, batch_, safe);
    if (!passes) return;
    Request changed = request;
    passes->make(changed);
    const Change both = with(so_far, *passes);
    const Remedy* remedy = trials_.of(changed, both.settings, both.effect);
    if (remedy) add(*remedy, changed);
  }

  // Those that no other beats; of those that fit, where one does. What trains how much is not for
  // memory alone to decide: combinations compete with those of the same fine-tuning.
  std::vector<Stack> best() const {
    const auto fits = [](const Stack& s) { return s.remedy.verdict == Verdict::kFits; };
    const bool any = std::ranges::any_of(found_, fits);
    std::map<FinetuneKind, std::vector<const Stack*>> groups;
    for (const Stack& s : found_) {
      if (!any || fits(s)) groups[s.request.recipe.finetune.kind].push_back(&s);
    }
    std::vector<Stack> best;
    for (const auto& [kind, stacks] : groups) {
      std::vector<MemoryAndPace> points;
      for (const Stack* s : stacks)
        points.push_back({s->remedy.device_bytes, s->remedy.samples_per_second});
      const std::vector<char> leads = pareto_front(points);
      for (size_t i = 0; i < stacks.size(); ++i) {
        if (leads[i]) best.push_back(*stacks[i]);
      }
    }
    std::ranges::stable_sort(best, faster, &Stack::remedy);
    return best;
  }

 private:
  static Change with(const Change& so_far, const Change& change) {
    return {joined(so_far.settings, change.settings, " "),
            joined(so_far.effect, change.effect, ", "),
            {}};
  }

  // What does not fit, in passes, and with changes more.
  void go_on(const Request& changed, const Change& so_far, int64_t bytes, size_t next, bool fits) {
    if (!fits) add_passes(changed, so_far);
    if (!fits || fits_already_) extend(changed, so_far, bytes, next);
  }

  // What is not to be shown is not timed.
  std::optional<int64_t> needs_too_much(const Request& changed, const Change& both) const {
    if (!only_fitting_ || trials_.is_tried(both.settings)) return std::nullopt;
    return trials_.too_much(changed);
  }

  // No change lets more stay between steps, and the last of a kind lets least: where all kinds
  // together leave more than there is, each of them does.
  bool cannot_fit(Request request, Change so_far, size_t next) {
    Change least_weights = so_far;
    for (size_t kind = next; kind < kinds_.size(); ++kind) {
      const Change& strongest = kinds_[kind].back();
      if (strongest.of_weights) least_weights = with(least_weights, strongest);
    }
    if (trials_.weights_fit_nowhere(least_weights.settings)) return true;
    for (size_t kind = next; kind < kinds_.size(); ++kind) {
      const Change& strongest = kinds_[kind].back();
      strongest.make(request);
      so_far = with(so_far, strongest);
    }
    if (!so_far.settings.empty()) trials_.of(request, so_far.settings, so_far.effect);
    return trials_.fits_nowhere(so_far.settings);
  }

  void add(const Remedy& remedy, const Request& changed) { found_.push_back({remedy, changed}); }

  Trials& trials_;
  std::vector<ChangeKind> kinds_;
  int64_t batch_;
  bool fits_already_, only_fitting_;
  std::vector<Stack> found_;
};

}  // namespace

namespace {

std::vector<Stack> changed_stacks(const Request& request, const Hwdb& hwdb, const Estimate& today,
                                  Trials& trials, bool only_fitting) {
  const bool fits = today.memory.verdict == Verdict::kFits;
  StackSearch search(trials, stackable_changes(request, hwdb, today), today, only_fitting);
  if (!fits) search.add_passes(request, {});
  search.extend(request, {}, today.memory.device_bytes, 0);
  return search.best();
}

std::vector<Remedy> remedies_of(std::vector<Stack> stacks) {
  std::vector<Remedy> remedies;
  for (Stack& stack : stacks) remedies.push_back(std::move(stack.remedy));
  return remedies;
}

}  // namespace

std::vector<Stack> changed_stacks(const Request& request, const Hwdb& hwdb, const Estimate& today,
                                  Trials& trials) {
  return changed_stacks(request, hwdb, today, trials, false);
}

std::vector<Remedy> stacks(const Request& request, const Hwdb& hwdb, const Estimate& today,
                           Trials& trials) {
  return remedies_of(changed_stacks(request, hwdb, today, trials));
}

std::vector<Remedy> stacks_that_fit(const Request& request, const Hwdb& hwdb, const Estimate& today,
                                    Trials& trials) {
  std::vector<Remedy> found = remedies_of(changed_stacks(request, hwdb, today, trials, true));
  std::erase_if(found, [](const Remedy& r) { return r.verdict != Verdict::kFits; });
  return found;
}

Result<Advice> advise(const Request& requested, const Hwdb& hwdb) {
  Request request = requested;
  request.trace = request.detail = request.minimum = false;
  ModelCache models;
  auto today = TRY(estimate(request, hwdb, &models));
  if (today.on_host) return of_memory_alone();
  Trials trials(hwdb, today, models);
  return Advice{.device_id = today.device_id,
                .sample_unit = today.time.sample_unit,
                .usable_bytes = today.usable_bytes,
                .today = {.verdict = today.memory.verdict,
                          .device_bytes = today.memory.device_bytes,
                          .device_range = today.memory.device_range,
                          .step_ns = today.time.step_ns,
                          .samples_per_second = today.time.samples_per_second},
                .stacks = stacks(request, hwdb, today, trials),
                .notes = {.request = today.request,
                          .assumed = today.assumed,
                          .basis = today.basis,
                          .diagnostics = today.diagnostics}};
}

}  // namespace plimsoll
