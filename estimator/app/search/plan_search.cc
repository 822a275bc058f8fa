#include "estimator/app/search/plan_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/app/search/crossings.h"
#include "estimator/app/search/nearest_fit.h"
#include "estimator/app/search/priced_plans.h"
#include "estimator/app/search/unbeaten.h"
#include "estimator/estimator.h"
#include "estimator/model/model_source.h"
#include "estimator/request/find_platform.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/parallel/context_split.h"
#include "graph/parallel/expert_split.h"
#include "graph/parallel/unit.h"

namespace plimsoll {
namespace {

// What of a model decides which plans there are.
struct NetworkFacts {
  int64_t blocks = 1;  // repeated ones that a pipeline's stages can be made of
  int64_t sequence = 0, experts = 1;
};

int64_t size_of(const std::string& symbol, const Request& request, const Graph& graph) {
  if (const auto given = request.dims.find(symbol); given != request.dims.end())
    return given->second;
  const auto at = graph.defaults.find(symbol);
  return at == graph.defaults.end() ? 0 : at->second;
}

Result<NetworkFacts> facts_of(const Request& request) {
  const auto model = TRY(load_model(request));
  if (model.record || model.config.networks.size() != 1) return NetworkFacts{};
  const Graph& graph = model.config.networks.front().graph;
  const auto blocks = static_cast<int64_t>(parallel::units_below(graph, "").size());
  const std::string sequence = model.from_onnx ? "" : parallel::sequence_symbol(graph);
  return NetworkFacts{.blocks = std::max<int64_t>(1, blocks),
                      .sequence = sequence.empty() ? 0 : size_of(sequence, request, graph),
                      .experts = std::max<int64_t>(1, parallel::split_experts(graph).experts)};
}

// Sharing sequences is for those that are long: so many positions a rank or more, as Llama 3 was
// trained with 8,192 of 131,072 (Llama Team, arXiv:2407.21783, table 4).
constexpr int64_t kLeastPositions = 4096;

PlanSpace space_of(const Request& request, const Platform& platform, const BlockPrices& prices,
                   const NetworkFacts& network, const std::optional<int64_t>& global_batch) {
  const int64_t batch = request.batch.value_or(prices.batch());
  return {.gpus = request.gpu_count,
          .per_node = request.gpu_count / request.nodes,
          .blocks = prices.blocks(),
          .contexts = std::clamp<int64_t>(network.sequence / kLeastPositions, 1, request.gpu_count),
          .experts = network.experts,
          .samples = global_batch.value_or(batch * request.recipe.accumulate * request.gpu_count),
          .may_shard = platform.framework.shards_since.has_value(),
          .fixed_passes = global_batch.has_value()};
}

Result<std::vector<ClusterPlan>> plans_in(const Request& request, const PlanSpace& space) {
  auto plans = cluster_plans(request, space);
  if (!plans.empty()) return plans;
  return error(
      "E120",
      fmt::format("no plan divides {} samples per update evenly among {} GPUs", space.samples,
                  space.gpus),
      {},
      fmt::format(
          "use a multiple of {} samples, or do not fix the parallel plan, the batch and the passes",
          space.gpus));
}

// Of those that fit, or may, or do not, the ones that no other beats.
std::vector<EstimatedPlan> best_of(std::vector<EstimatedPlan> all) {
  if (all.empty()) return all;
  const auto verdict = [](const EstimatedPlan& e) { return e.priced.verdict; };
  const Verdict best = verdict(*std::ranges::min_element(all, {}, verdict));
  std::erase_if(all, [&](const EstimatedPlan& e) { return verdict(e) != best; });
  std::vector<MemoryAndPace> points;
  for (const EstimatedPlan& e : all)
    points.push_back({e.priced.device_bytes, e.priced.samples_per_second});
  const std::vector<char> leads = pareto_front(points);
  std::vector<EstimatedPlan> front;
  for (size_t i = 0; i < all.size(); ++i) {
    if (leads[i]) front.push_back(std::move(all[i]));
  }
  return front;
}

double percent(int64_t part, int64_t whole) {
  return whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// "2 % of its step is communication and 3 % pipeline bubble"
std::string waits_of(const PricedPlan& p, std::string_view of) {
  std::string text =
      fmt::format("{:.0f} % of {} is communication", percent(p.communication_ns, p.step_ns), of);
  if (p.bubble_ns > 0)
    text += fmt::format(" and {:.0f} % pipeline bubble", percent(p.bubble_ns, p.step_ns));
  return text;
}

// `all`: what was estimated, the fastest first.
std::string reason_of(const EstimatedPlan& best, const std::vector<EstimatedPlan>& all) {
  const PricedPlan& p = best.priced;
  std::string text = waits_of(p, "its step");
  const auto other = std::ranges::find_if(all, [&](const EstimatedPlan& e) {
    return e.priced.verdict == p.verdict && !e.plan.same_mesh(best.plan);
  });
  if (other == all.end()) return text;
  const PricedPlan& o = other->priced;
  return text + fmt::format(". The next best plan is {}: its step is {:.0f} % longer, and {}",
                            o.settings, percent(o.step_ns - p.step_ns, p.step_ns),
                            waits_of(o, "that"));
}

// What runs when; nothing where one GPU tells no other anything.
std::optional<StepLanes> lanes_of(Request request, const Hwdb& hwdb) {
  request.detail = true;
  const auto e = estimate(request, hwdb);
  return e ? e->time.lanes : std::nullopt;
}

// How long the whole run takes, and what that costs on so many GPUs.
void add_run(PricedPlan& plan, const PlanSearchOptions& options, int64_t gpus) {
  constexpr double kHour = 3.6e12, kMost = 9e18;
  if (options.tokens && plan.tokens_per_second) {
    const double ns = *options.tokens / *plan.tokens_per_second * 1e9;
    plan.run_ns = ns < kMost ? std::optional(static_cast<int64_t>(ns)) : std::nullopt;
  }
  if (options.price && plan.run_ns)
    plan.run_price =
        static_cast<double>(*plan.run_ns) / kHour * static_cast<double>(gpus) * *options.price;
}

}  // namespace

Result<PlanAdvice> advise_plans(const Request& request, const Hwdb& hwdb,
                                const PlanSearchOptions& options) {
  const auto platform = TRY(find_platform(hwdb, request, request.devices.front()));
  const auto network = TRY(facts_of(request));
  BlockPrices prices(request, hwdb, network.blocks);
  TRY(prices.begin({.checkpoint = request.recipe.checkpoint, .micro_batch = 1}));
  const PlanSpace space = space_of(request, platform, prices, network, options.global_batch);
  const auto plans = TRY(plans_in(request, space));
  PricedPlans search(request, hwdb, platform, prices);
  const auto all = search.run(plans, {}, options.threads);
  PlanAdvice advice{.device_id = platform.device.id,
                    .usable_bytes = platform.usable_bytes,
                    .gpus = request.gpu_count,
                    .nodes = request.nodes,
                    .global_batch = space.samples,
                    .counts = search.counts(),
                    .refusals = prices.refusals(),
                    .notes = {.request = request}};
  std::vector<EstimatedPlan> best = best_of(all);
  const bool none = best.empty() || best.front().priced.verdict == Verdict::kDoesNotFit;
  if (none)
    advice.nearest =
        nearest_fit({request, hwdb, platform, prices, space, search.least(), options.threads}, all);
  if (best.empty()) return advice;
  advice.sample_unit = best.front().sample_unit;
  advice.crossings = crossings_of(with_plan(request, best.front().plan), platform);
  if (!none) advice.reason = reason_of(best.front(), all);
  if (options.lanes) advice.lanes = lanes_of(with_plan(request, best.front().plan), hwdb);
  advice.notes = std::move(best.front().notes);
  std::erase_if(advice.notes.assumed, [](const Assumption& a) { return a.setting == "batch"; });
  for (EstimatedPlan& plan : best) {
    add_run(plan.priced, options, request.gpu_count);
    advice.plans.push_back(std::move(plan.priced));
  }
  return advice;
}

}  // namespace plimsoll
