#include "estimator/app/search/changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/app/search/largest_batch.h"
#include "estimator/estimator.h"
#include "estimator/evaluator.h"
#include "estimator/request/lengths.h"
#include "estimator/request/parallel_request.h"
#include "estimator/settings/given_settings.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

// To 16 bits where the card computes in them.
ChangeKind precisions(const Request& request, const Hwdb& hwdb, const Estimate& today) {
  const auto device = hwdb.device(request.devices.front());
  const PrecisionRow& now = *today.precision;
  if (!device || now.storage != DType::kFloat32 || now.autocast) return {};
  const char* const wanted = device->peak("bf16_tensor") ? "amp-bf16" : "amp-fp16";
  return {{setting("precision", wanted), "",
           [wanted](Request& r) { r.recipe.precision = find_precision(wanted); }}};
}

ChangeKind optimizers(const Request& request) {
  const std::string smaller(request.recipe.optimizer->smaller);
  if (smaller.empty() || request.recipe.mode != Mode::kTrain) return {};
  return {{setting("optimizer", smaller), "smaller states", [smaller](Request& r) {
             r.recipe.optimizer = find_optimizer(smaller);
             r.recipe.published = false;
           }}};
}

ChangeKind checkpoints(const Request& request) {
  if (request.recipe.mode != Mode::kTrain || request.recipe.checkpoint != "none") return {};
  return {{setting("checkpoint", "blocks"), "recomputes them",
           [](Request& r) { r.recipe.checkpoint = "blocks"; }}};
}

// Where the peak is not a step's: fewer samples at once, and outputs that go to the host at once.
ChangeKind evaluations(const Request& request, const Estimate& today) {
  const Evaluation& now = request.recipe.evaluation;
  ChangeKind kind;
  if (!today.memory.in_evaluation()) return kind;
  if (now.gathered > 1)
    kind.push_back({setting("eval-gather", "1"), "moves logits to the host",
                    [](Request& r) { r.recipe.evaluation.gathered = 1; }});
  if (now.batch > 1)
    kind.push_back({setting("eval-batch", "1"), "evaluates one at a time",
                    [](Request& r) { r.recipe.evaluation.batch = 1; }});
  return kind;
}

// Where the peak is before the first step, which no batch changes.
ChangeKind loadings(const Request& request, const Estimate& today) {
  if (!today.memory.in_loading()) return {};
  const ParallelRequest& shared = request.parallel;
  const bool flat = shared.fsdp && shared.fsdp_version == 1;
  const auto load = [](WeightLoading how, std::string_view effect) {
    return Change{setting("load", name(how)), std::string(effect),
                  [how](Request& r) { r.weight_loading = how; }};
  };
  ChangeKind kind;
  if (flat && request.weight_loading > WeightLoading::kUnits)
    kind.push_back(load(WeightLoading::kUnits, "shards one unit at a time"));
  if (!flat) kind.push_back(load(WeightLoading::kParts, "loads only each GPU's weights"));
  if (flat)
    kind.push_back({setting("fsdp-version", "2"), "loads only each GPU's weights", [](Request& r) {
                      r.parallel.fsdp_version = 2;
                      r.weight_loading = WeightLoading::kParts;
                    }});
  return kind;
}

// What one GPU can have in its host's memory: states of what it trains, and feature maps.
ChangeKind offloads(const Request& request) {
  const ParallelRequest& shared = request.parallel;
  const bool one = request.gpu_count == 1 && !shared.shards() && shared.offload == Offload{};
  if (!one || request.recipe.mode != Mode::kTrain) return {};
  const auto change = [](std::string_view what, std::string_view effect, Offload offload) {
    return Change{setting("offload", what), std::string(effect),
                  [offload](Request& r) { r.parallel.offload = offload; }};
  };
  return {change("activations", "copies them to the host", {.activations = true}),
          change("states", "the host updates weights", {.states = true})};
}

// Of several GPUs that each hold the same, with samples of their own.
ChangeKind shardings(const Request& request) {
  if (!shares_training(request) || request.parallel.shards()) return {};
  const auto plan = plan_on(request.parallel, request.gpu_count);
  if (!plan || plan->mesh.extent(Axis::kData) == 1) return {};
  return {{setting("zero", "1"), "shards optimizer states",
           [](Request& r) { r.parallel.zero = static_cast<int64_t>(Sharded::kStates); }},
          {setting("fsdp"), "shards weights, gradients and states",
           [](Request& r) {
             r.parallel.fsdp = true;
             take_sharded_defaults(r);
           },
           true}};
}

ChangeKind adapters(const Request& request, bool of_family) {
  const Finetune& finetune = request.recipe.finetune;
  const bool quantized = finetune.kind == FinetuneKind::kQlora || finetune.quantize;
  if (!of_family || request.recipe.mode != Mode::kTrain || quantized) return {};
  ChangeKind kind;
  if (finetune.kind == FinetuneKind::kFull)
    kind.push_back({setting("finetune", "lora"), "trains only adapters",
                    [](Request& r) { r.recipe.finetune.kind = FinetuneKind::kLora; }});
  kind.push_back({setting("finetune", "qlora"), "adapters, the rest in 4 bits",
                  [](Request& r) {
                    r.recipe.finetune.kind = FinetuneKind::kQlora;
                    take_sharded_defaults(r);
                  },
                  true});
  return kind;
}

}  // namespace

bool shares_training(const Request& request) {
  return request.gpu_count > 1 && request.recipe.mode == Mode::kTrain && !request.recipe.serve &&
         request.exchange != kDataParallel && request.exchange != kSplitLayers;
}

std::vector<ChangeKind> stackable_changes(const Request& request, const Hwdb& hwdb,
                                          const Estimate& today) {
  const bool of_family = !today.input.family.empty();
  std::vector<ChangeKind> kinds = {evaluations(request, today),
                                   loadings(request, today),
                                   shardings(request),
                                   adapters(request, of_family),
                                   precisions(request, hwdb, today),
                                   checkpoints(request),
                                   optimizers(request),
                                   offloads(request)};
  std::erase_if(kinds, [](const ChangeKind& kind) { return kind.empty(); });
  return kinds;
}

std::optional<Change> in_passes(const Request& request, int64_t batch, int64_t safe) {
  if (request.recipe.mode != Mode::kTrain || request.recipe.accumulate > 1) return std::nullopt;
  constexpr int64_t kMostPasses = 64;
  for (int64_t passes = 2; passes <= kMostPasses && batch % passes == 0; passes *= 2) {
    const int64_t micro = batch / passes;
    if (micro > safe) continue;
    return Change{fmt::format("{} {}", setting("batch", fmt::to_string(micro)),
                              setting("accumulate", fmt::to_string(passes))),
                  fmt::format("still {} per update", batch), [micro, passes](Request& r) {
                    r.batch = micro;
                    r.recipe.accumulate = passes;
                  }};
  }
  return std::nullopt;
}

bool saves(int64_t bytes, int64_t before) {
  constexpr double kWorthwhile = .02;
  return static_cast<double>(bytes) < (1 - kWorthwhile) * static_cast<double>(before);
}

int64_t bytes_at_any_batch(const MemoryEstimate& memory) {
  const int64_t loading = memory.loading ? memory.loading->allocated_peak_bytes : 0;
  return std::max(memory.persistent_bytes, loading) + memory.context_bytes;
}

const Remedy* Trials::of(const Request& changed, const std::string& settings,
                         const std::string& effect) {
  constexpr size_t kMostEvents = 400'000;
  const auto [at, is_new] = tried_.try_emplace(settings);
  std::optional<Tried>& tried = at->second;
  if (is_new) {
    if (const auto estimated = estimate(changed, hwdb_, &models_)) {
      const Remedy remedy{.settings = settings,
                          .effect = effect,
                          .verdict = estimated->memory.verdict,
                          .device_bytes = estimated->memory.device_bytes,
                          .device_range = estimated->memory.device_range,
                          .step_ns = estimated->time.step_ns,
                          .samples_per_second = estimated->time.samples_per_second};
      tried = tried_of(remedy, *estimated);
    }
    if (models_.events() > kMostEvents) models_.clear();
  }
  return tried ? &tried->remedy : nullptr;
}

Trials::Tried Trials::tried_of(const Remedy& remedy, const Estimate& estimate) {
  const MemoryEstimate& memory = estimate.memory;
  return {remedy, bytes_at_any_batch(memory), memory.parameter_bytes + memory.context_bytes};
}

const Trials::Tried* Trials::find(const std::string& settings) const {
  const auto at = tried_.find(settings);
  return at != tried_.end() && at->second ? &*at->second : nullptr;
}

std::optional<int64_t> Trials::too_much(Request changed) const {
  if (changed.recipe.serve) return std::nullopt;
  changed.parallel.rank = fullest_rank_;
  const auto memory = memory_once(at_longest(changed), hwdb_, models_);
  if (!memory || memory->verdict != Verdict::kDoesNotFit) return std::nullopt;
  return memory->device_bytes;
}

bool Trials::fits_nowhere(const std::string& settings) const {
  const Tried* tried = find(settings);
  return tried && tried->at_any_batch > usable_bytes_;
}

bool Trials::weights_fit_nowhere(const std::string& settings) const {
  const Tried* tried = find(settings);
  return tried && tried->weights > usable_bytes_;
}

int64_t Trials::largest_batch(const Request& changed, const std::string& settings, int64_t most) {
  const auto [at, is_new] = batches_.try_emplace(settings, 0);
  if (is_new && !fits_nowhere(settings)) {
    const auto largest =
        plimsoll::largest_batch(changed, hwdb_, {.max = most, .rounds = 0}, &models_);
    if (largest) at->second = largest->answer.safe;
  }
  return at->second;
}

bool faster(const Remedy& a, const Remedy& b) {
  if (a.verdict != b.verdict) return a.verdict < b.verdict;
  return a.samples_per_second > b.samples_per_second;
}

void sort_by_pace(std::vector<Remedy>& remedies) { std::ranges::stable_sort(remedies, faster); }

}  // namespace plimsoll
