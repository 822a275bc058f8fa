// Change: one thing that a request may do otherwise so that its step needs less memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimator/answer/estimate.h"
#include "estimator/answer/remedy.h"
#include "estimator/model/model_cache.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct Change {
  std::string settings, effect;  // "--checkpoint blocks", "recomputes them"
  std::function<void(Request&)> make;
  bool of_weights = false;  // they take less
};

// Changes of one kind exclude each other: LoRA, or QLoRA.
using ChangeKind = std::vector<Change>;

// Whether a request has GPUs whose plan can be looked for: several, each with a process, training.
bool shares_training(const Request& request);

// The kinds that can be combined, each only where the request does not have it: where evaluation
// needs most, less of it at once; where loading does, less of the model; of several GPUs
// that each hold the same, sharding; of a model of a family adapters alone; autocast, where
// weights have 32 bits; recomputed blocks, an optimizer with smaller states; on one GPU what the
// host's memory takes. `today`: the request's estimate.
std::vector<ChangeKind> stackable_changes(const Request& request, const Hwdb& hwdb,
                                          const Estimate& today);

// A batch in several passes of which each is at most `safe`; nothing where no power of two up to
// 64 divides it so, or the step accumulates already.
std::optional<Change> in_passes(const Request& request, int64_t batch, int64_t safe);

// What a run needs whatever its batch is: what stays between steps, or loading where that is more,
// and what is beside the allocator.
int64_t bytes_at_any_batch(const MemoryEstimate& memory);

// Whether a change that leaves so much of what was needed before is worth a line.
bool saves(int64_t bytes, int64_t before);

// What changes of one request come to. Each is asked once, by its settings' text.
class Trials {
 public:
  // `today`: of the request as it is; `models`: that it was made with, so that a change of the
  // framework's rules alone compiles nothing. Emptied where they grow large.
  Trials(const Hwdb& hwdb, const Estimate& today, ModelCache& models)
      : hwdb_(hwdb),
        usable_bytes_(today.usable_bytes),
        fullest_rank_(today.parallel.rank),
        models_(models) {
    tried_[""] = tried_of({}, today);
  }
  // The remedy of the changed request; null where the model, the framework or the card does not
  // allow it. Cost: an estimate.
  const Remedy* of(const Request& changed, const std::string& settings, const std::string& effect);
  bool is_tried(const std::string& settings) const { return tried_.contains(settings); }
  // What the stage that needs most as the request is needs of the changed one, where that alone is
  // too much; nothing where it may fit. Cost: the memory of one stage, without its time.
  std::optional<int64_t> too_much(Request changed) const;
  // Whether no batch of it fits, by what stays: known of what was tried and is possible.
  bool fits_nowhere(const std::string& settings) const;
  // ... by the weights alone, which other changes leave.
  bool weights_fit_nowhere(const std::string& settings) const;
  // Its largest safe batch up to this one; 0: none is. Cost: a batch search, unless it fits
  // nowhere.
  int64_t largest_batch(const Request& changed, const std::string& settings, int64_t most);

 private:
  struct Tried {
    Remedy remedy;
    int64_t at_any_batch = 0;
    int64_t weights = 0;  // ... of which weights, and what is beside the allocator
  };

  static Tried tried_of(const Remedy& remedy, const Estimate& estimate);
  const Tried* find(const std::string& settings) const;  // of what was tried and is possible

  const Hwdb& hwdb_;
  int64_t usable_bytes_;
  int64_t fullest_rank_;
  ModelCache& models_;
  std::map<std::string, std::optional<Tried>> tried_;  // by settings; of the request by ""
  std::map<std::string, int64_t> batches_;
};

// Best verdicts first, then the least time a sample.
bool faster(const Remedy& a, const Remedy& b);
void sort_by_pace(std::vector<Remedy>& remedies);

}  // namespace plimsoll
