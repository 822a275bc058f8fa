#include "estimator/app/search/largest_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <optional>
#include <set>

#include "estimator/answer/effects.h"
#include "estimator/app/search/batch_memory.h"
#include "estimator/estimator.h"
#include "estimator/model/bind_symbols.h"
#include "estimator/request/find_platform.h"
#include "estimator/request/lengths.h"
#include "estimator/request/parallel_request.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

// Round multiples of `multiple` from the largest down, and the safe batch.
std::set<int64_t> round_batches(const MaxBatchAnswer& answer, const BatchSearch& search) {
  std::vector<int64_t> rounds;
  for (int64_t step = 1; step * search.multiple <= answer.last_may_fit; step *= 2) {
    rounds.push_back(step * search.multiple);
    if (step > 1) rounds.push_back(step / 2 * 3 * search.multiple);
  }
  std::erase_if(rounds, [&](int64_t batch) { return batch > answer.last_may_fit; });
  std::ranges::sort(rounds, std::ranges::greater());
  std::set<int64_t> chosen(rounds.begin(), rounds.begin() + static_cast<ptrdiff_t>(std::min(
                                                                rounds.size(), search.rounds)));
  if (answer.safe > 0) chosen.insert(answer.safe);
  return chosen;
}

int64_t as_fast_as_any(const LargestBatch& largest) {
  constexpr double kAsFast = 0.98;
  double best = 0;
  for (const RoundBatch& r : largest.rounds) {
    if (r.memory.batch <= largest.answer.safe) best = std::max(best, r.samples_per_second);
  }
  for (const RoundBatch& r : largest.rounds) {
    if (r.memory.batch <= largest.answer.safe && r.samples_per_second >= kAsFast * best)
      return r.memory.batch;
  }
  return 0;
}

constexpr int64_t kBatch = 32;

// Where the search begins: what is asked, else a size that models have.
int64_t set_start(Request& request, const std::string& vary) {
  constexpr int64_t kImage = 224, kLength = 128;
  if (vary == "batch") {
    if (!request.batch) request.batch = kBatch;
    return *request.batch;
  }
  if (vary == "image") {
    if (!request.image) request.image = kImage;
    return *request.image;
  }
  return request.dims.try_emplace(vary, kLength).first->second;
}

// The model where the search begins. A file of any batch has one that others have.
Result<const CompiledModel*> begin(Request& request, const Evaluator& evaluator,
                                   const BatchSearch& search, int64_t start,
                                   std::optional<BatchMemory>& sizes, ModelCache* models) {
  sizes.emplace(request, evaluator, search.confidence, search.vary, models);
  auto first = sizes->model(start);
  if (first || request.batch) return first;
  request.batch = kBatch;
  sizes.emplace(request, evaluator, search.confidence, search.vary, models);
  return sizes->model(start);
}

// Whether nobody said where the search is to begin.
bool is_start_assumed(const Request& given, const std::string& vary) {
  return vary == "image" ? !given.image : vary != "batch" && !given.dims.contains(vary);
}

// A stage of a pipeline, beside the first.
struct OtherStage {
  OtherStage(Evaluator of, const Request& request, const BatchSearch& search, ModelCache* models)
      : evaluator(std::move(of)),
        memory(request, evaluator, search.confidence, search.vary, models) {}
  Evaluator evaluator;
  BatchMemory memory;
};

// Those that estimate_stages() answers, unless the request names one rank.
Result<std::list<OtherStage>> other_stages(Request request, const Hwdb& hwdb,
                                           const BatchSearch& search, const Mesh& mesh,
                                           ModelCache* models) {
  std::list<OtherStage> others;
  if (request.given.contains("rank")) return others;
  for (const int64_t rank : ranks_of_stages(mesh)) {
    if (rank == mesh.rank) continue;
    request.parallel.rank = rank;
    auto platform = TRY(find_platform(hwdb, request, request.devices.front()));
    auto evaluator = TRY(Evaluator::make(std::move(platform), request));
    others.emplace_back(std::move(evaluator), request, search, models);
  }
  return others;
}

using SizeMemory = std::function<Result<BatchPoint>(int64_t)>;

// Sizes that the model refuses take more than any card has, so that the search ends before them.
class Refusals {
 public:
  Refusals(BatchMemory& models, const SizeMemory& memory, int64_t start)
      : models_(models), memory_(memory), start_(start) {}

  Result<BatchPoint> operator()(int64_t size) {
    constexpr int64_t kNone = std::numeric_limits<int64_t>::max() / 4;
    if (size <= start_) return memory_(size);
    auto model = models_.model(size);
    Diagnostics why = model ? beyond_positions(**model) : std::move(model.error());
    if (why.empty()) return memory_(size);
    if (size < least_) {
      least_ = size;
      why_ = std::move(why);
    }
    return BatchPoint{size, kNone, kNone, kNone};
  }

  // A model that runs on paper alone: its tables of positions are shorter, or what engines serve.
  static Diagnostics beyond_positions(const CompiledModel& model) {
    Diagnostics found;
    std::ranges::copy_if(model.warnings, std::back_inserter(found), [](const Diagnostic& d) {
      return d.code == kBeyondPositions || d.code == kBeyondStated;
    });
    return found;
  }

  // Leaves out what was refused; where that ended the search, says so.
  void settle(const std::string& vary, MaxBatchAnswer& answer, Diagnostics& warnings) const {
    const auto refused = [&](const BatchPoint& p) { return p.batch >= least_; };
    if (std::erase_if(answer.points, refused) == 0) return;
    const bool ended = answer.points.empty() || answer.points.back().batch == answer.last_may_fit;
    if (!ended) return;
    answer.searched_to = answer.last_may_fit;
    const bool runs = why_.front().code == kBeyondStated;
    warnings.push_back(note(
        "N524",
        fmt::format("{} {} {}: {}", runs ? "the search ends before" : "the model cannot run with",
                    vary, least_, why_.front().message)));
  }

 private:
  BatchMemory& models_;
  const SizeMemory& memory_;
  int64_t start_;
  int64_t least_ = std::numeric_limits<int64_t>::max();
  Diagnostics why_;
};

}  // namespace

Result<LargestBatch> largest_batch(const Request& given, const Hwdb& hwdb,
                                   const BatchSearch& search, ModelCache* models) {
  Request request = at_longest(given);
  auto platform =
      TRY(find_platform(hwdb, request, request.devices.empty() ? "" : request.devices.front()));
  const Mesh mesh = platform.parallel.mesh;
  int64_t start = set_start(request, search.vary);
  auto evaluator = TRY(Evaluator::make(std::move(platform), request));
  LargestBatch largest;
  largest.device_id = evaluator.platform().device.id;
  largest.vary = search.vary;
  largest.search = search;
  largest.notes.request = given;
  largest.usable_bytes = evaluator.platform().usable_bytes;
  std::optional<BatchMemory> sizes;
  auto first = begin(request, evaluator, search, start, sizes, models);
  BatchMemory& memory = *sizes;
  // A model whose tables of positions are shorter than those of most.
  const auto runs = [](const auto& at) { return at && Refusals::beyond_positions(**at).empty(); };
  const int64_t assumed = is_start_assumed(given, search.vary) ? start : 0;
  for (int64_t size = assumed / 2; size > 0 && !runs(first); size /= 2) {
    auto shorter = memory.model(size);
    if (!runs(shorter)) continue;
    first = std::move(shorter);
    start = size;
  }
  const auto model = TRY(std::move(first));
  TRY(check_longest(model->graph, given));
  if (search.vary != "batch") largest.batch = batch_at(*model, model->binding);
  largest.notes.diagnostics = warnings_of(request, evaluator.platform(), *model);
  auto others = TRY(other_stages(request, hwdb, search, mesh, models));
  const SizeMemory worst = [&](int64_t size) -> Result<BatchPoint> {
    auto most = TRY(memory(size));
    for (OtherStage& other : others) {
      const auto point = TRY(other.memory(size));
      if (point.device_bytes > most.device_bytes) most = point;
    }
    return most;
  };
  Refusals refusals(memory, worst, start);
  SizeMemory evaluate = worst;
  if (search.vary != "batch") evaluate = std::ref(refusals);
  auto answer = TRY(max_batch(evaluate, {.capacity = largest.usable_bytes,
                                         .multiple = search.multiple,
                                         .max = search.max,
                                         // No other decisions than those it was compiled for.
                                         .start = start}));
  largest.answer = std::move(answer);
  refusals.settle(search.vary, largest.answer, largest.notes.diagnostics);
  for (const int64_t size : round_batches(largest.answer, search)) {
    // Images may be too small for a network.
    if (search.vary != "batch" && !memory.model(size)) continue;
    auto point = TRY(worst(size));
    const auto estimated =
        TRY(others.empty() ? memory.estimate(size)
                           : estimate(at_size(request, search.vary, size), hwdb));
    largest.sample_unit = estimated.time.sample_unit;
    largest.notes.basis = estimated.basis;
    largest.notes.assumed = estimated.assumed;
    std::erase_if(largest.notes.assumed, [&](const Assumption& a) {
      return a.setting == search.vary || a.change == setting_entry("dim", search.vary, "N");
    });
    largest.rounds.push_back({point, estimated.time.step_ns, estimated.time.samples_per_second,
                              search.parts ? memory_parts(estimated) : std::vector<MemoryPart>()});
  }
  if (search.vary == "batch") largest.as_fast = as_fast_as_any(largest);
  return largest;
}

}  // namespace plimsoll
