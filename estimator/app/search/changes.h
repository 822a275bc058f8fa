// Change: one thing that a request may do otherwise so that its step needs less memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimator/answer/remedy.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct Change {
  std::string settings, effect;  // "--checkpoint blocks", "recomputes them"
  std::function<void(Request&)> make;
};

// Changes of one kind exclude each other: LoRA, or QLoRA.
using ChangeKind = std::vector<Change>;

// The kinds that can be combined, each only where the request does not have it: of a model of a
// family adapters alone; autocast, recomputed blocks, an optimizer with smaller states.
std::vector<ChangeKind> stackable_changes(const Request& request, const Hwdb& hwdb, bool of_family);

// A batch in several passes of which each is at most `safe`; nothing where no power of two up to
// 64 divides it so, or the step accumulates already.
std::optional<Change> in_passes(const Request& request, int64_t batch, int64_t safe);

// What changes of one request come to. Each is asked once, by its settings' text.
class Trials {
 public:
  explicit Trials(const Hwdb& hwdb) : hwdb_(hwdb) {}
  // The remedy of the changed request; null where the model, the framework or the card does not
  // allow it. Cost: an estimate.
  const Remedy* of(const Request& changed, const std::string& settings, const std::string& effect);
  // Its largest safe batch up to this one; 0: none is. Cost: a batch search.
  int64_t largest_batch(const Request& changed, const std::string& settings, int64_t most);

 private:
  const Hwdb& hwdb_;
  std::map<std::string, std::optional<Remedy>> remedies_;
  std::map<std::string, int64_t> batches_;
};

// Best verdicts first, then the least time a sample.
void sort_by_pace(std::vector<Remedy>& remedies);

}  // namespace plimsoll
