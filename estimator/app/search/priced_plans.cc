#include "estimator/app/search/priced_plans.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "estimator/app/search/unbeaten.h"
#include "estimator/estimator.h"
#include "graph/base/work_in_order.h"

namespace plimsoll {
namespace {

// How far what blocks add up to may be from what a plan is estimated to need.
constexpr double kDoubt = 1.15;

// A block's weights, gradients and states are the same whatever its micro-batch is.
BlockSettings with_batch(BlockSettings settings, int64_t micro_batch) {
  settings.micro_batch = micro_batch;
  return settings;
}

std::optional<EstimatedPlan> estimated(const Request& request, const ClusterPlan& plan,
                                       const Hwdb& hwdb) {
  Request with = with_plan(request, plan);
  with.trace = with.detail = with.minimum = false;
  auto e = estimate(with, hwdb);
  if (!e) return std::nullopt;
  PricedPlan priced{.settings = settings_of(plan),
                    .axes = e->parallel.axes,
                    .verdict = e->memory.verdict,
                    .device_bytes = e->memory.device_bytes,
                    .persistent_bytes = e->memory.persistent_bytes,
                    .device_range = e->memory.device_range,
                    .step_ns = e->time.step_ns,
                    .communication_ns = e->time.communication_ns,
                    .bubble_ns = e->time.bubble_ns,
                    .samples_per_second = e->time.samples_per_second,
                    .tokens_per_second = e->time.tokens_per_second,
                    .mfu = e->time.mfu};
  return EstimatedPlan{.plan = plan,
                       .priced = std::move(priced),
                       .notes = {.request = std::move(e->request),
                                 .assumed = std::move(e->assumed),
                                 .basis = std::move(e->basis),
                                 .diagnostics = std::move(e->diagnostics)},
                       .sample_unit = e->time.sample_unit};
}

bool is_close(const PlanOutline& outline, const Platform& platform) {
  return static_cast<double>(outline.bytes) <= kDoubt * static_cast<double>(platform.usable_bytes);
}

// GPipe takes as long as 1F1B and holds as much or more: it is estimated where it is asked for.
bool holds_more(const ClusterPlan& plan, const Request& request) {
  return plan.stages > 1 && plan.schedule == Schedule::kForwardFirst && !request.parallel.schedule;
}

}  // namespace

bool PricedPlans::is_promising(const Compared& compared) const {
  return !compared.estimated && !holds_more(compared.plan, request_) &&
         is_close(compared.outline, platform_);
}

void PricedPlans::note_kept(const ClusterPlan& plan, int64_t bytes) {
  const auto order = [](const Least& l) {
    return std::tuple(l.bytes, l.plan.block.checkpoint == "none", l.plan.block.micro_batch);
  };
  const Least least{plan, bytes};
  if (!least_ || order(least) < order(*least_)) least_ = least;
  if (bytes > platform_.usable_bytes) {
    ++counts_.kept_too_much;
  } else {
    kept_.push_back(plan);
  }
}

// What the model cannot be split into, and what keeps more than there is.
void PricedPlans::leave_out(std::span<const ClusterPlan> plans, size_t threads) {
  int64_t least = plans.empty() ? 1 : plans.front().block.micro_batch;
  for (const ClusterPlan& plan : plans) least = std::min(least, plan.block.micro_batch);
  std::vector<BlockSettings> wanted;
  for (const ClusterPlan& plan : plans) wanted.push_back(with_batch(plan.block, least));
  prices_.add(wanted, threads);
  for (const ClusterPlan& plan : plans) {
    const NetworkPrice* price = prices_.find(with_batch(plan.block, least));
    const bool stays_whole = price && plan.stages > 1 && price->blocks < plan.stages;
    if (!price || stays_whole) {
      ++counts_.refused;
    } else {
      note_kept(plan, kept_bytes(plan, *price));
    }
  }
  counts_.considered = static_cast<int64_t>(plans.size());
}

// By micro-batch: where one is far too large for every plan, so are larger ones.
void PricedPlans::compare(size_t threads) {
  std::set<int64_t> batches;
  for (const ClusterPlan& plan : kept_) batches.insert(plan.block.micro_batch);
  std::set<BlockSettings> hopeless;
  for (const int64_t batch : batches) {
    std::vector<const ClusterPlan*> now;
    std::vector<BlockSettings> wanted;
    for (const ClusterPlan& plan : kept_) {
      if (plan.block.micro_batch != batch || hopeless.contains(with_batch(plan.block, 0))) continue;
      now.push_back(&plan);
      wanted.push_back(plan.block);
    }
    prices_.add(wanted, threads);
    std::map<BlockSettings, bool> any;
    for (const ClusterPlan* plan : now) {
      const NetworkPrice* price = prices_.find(plan->block);
      if (!price) continue;
      const PlanOutline outline = outline_of(*plan, *price, platform_);
      any[with_batch(plan->block, 0)] |= is_close(outline, platform_);
      compared_.push_back({*plan, outline});
    }
    for (const auto& [settings, fits] : any) {
      if (!fits) hopeless.insert(settings);
    }
  }
  counts_.compared = static_cast<int64_t>(kept_.size());
  std::ranges::stable_sort(compared_, {}, [](const Compared& c) { return c.outline.seconds; });
}

std::vector<size_t> PricedPlans::fastest(const PlanEffort& effort) const {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < compared_.size() && chosen.size() < effort.fastest; ++i) {
    if (!is_promising(compared_[i])) continue;
    const auto alike = std::ranges::count_if(
        chosen, [&](size_t other) { return compared_[other].plan.same_mesh(compared_[i].plan); });
    if (static_cast<size_t>(alike) < effort.of_a_mesh) chosen.push_back(i);
  }
  return chosen;
}

// Those that no other seems to beat in memory and time.
std::vector<size_t> PricedPlans::pareto(size_t most) const {
  std::vector<MemoryAndPace> points;
  for (const Compared& c : compared_)
    points.push_back({c.outline.bytes, 1 / c.outline.seconds, is_promising(c)});
  const std::vector<char> leads = pareto_front(points);
  std::vector<size_t> chosen;
  for (size_t i = 0; i < compared_.size() && chosen.size() < most; ++i) {
    if (leads[i]) chosen.push_back(i);
  }
  return chosen;
}

std::vector<size_t> PricedPlans::smallest(size_t most) const {
  std::vector<size_t> order;
  for (size_t i = 0; i < compared_.size(); ++i) {
    if (!compared_[i].estimated && !holds_more(compared_[i].plan, request_)) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](size_t i) { return compared_[i].outline.bytes; });
  order.resize(std::min(order.size(), most));
  return order;
}

void PricedPlans::estimate_all(std::vector<size_t> chosen, size_t threads) {
  std::erase_if(chosen, [&](size_t i) { return compared_[i].estimated; });
  const auto make_worker = [&]() -> Worker<std::optional<EstimatedPlan>> {
    return [&](size_t unit) { return estimated(request_, compared_[chosen[unit]].plan, hwdb_); };
  };
  const std::function<bool(std::optional<EstimatedPlan>)> use =
      [&](std::optional<EstimatedPlan> plan) {
        if (plan) estimated_.push_back(std::move(*plan));
        return true;
      };
  work_in_order<std::optional<EstimatedPlan>>(chosen.size(), threads, make_worker, use);
  for (const size_t i : chosen) compared_[i].estimated = true;
  counts_.estimated = static_cast<int64_t>(estimated_.size());
}

std::vector<EstimatedPlan> PricedPlans::run(std::span<const ClusterPlan> plans,
                                            const PlanEffort& effort, size_t threads) {
  leave_out(plans, threads);
  compare(threads);
  estimate_all(fastest(effort), threads);
  estimate_all(pareto(effort.smallest), threads);
  const bool any = std::ranges::any_of(
      estimated_, [](const EstimatedPlan& e) { return e.priced.verdict == Verdict::kFits; });
  if (!any) estimate_all(smallest(effort.smallest), threads);
  std::ranges::stable_sort(estimated_, [](const EstimatedPlan& a, const EstimatedPlan& b) {
    return a.priced.samples_per_second > b.priced.samples_per_second;
  });
  return std::move(estimated_);
}

}  // namespace plimsoll
