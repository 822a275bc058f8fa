#include "estimator/app/search/priced_plans.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <tuple>

#include "estimator/app/search/unbeaten.h"
#include "estimator/estimator.h"
#include "graph/base/work_in_order.h"

namespace plimsoll {
namespace {

// How far what blocks add up to may be from what a plan is estimated to need: 1.21 times as much at
// most, in five clusters of which all plans were estimated (two of them in plan_search_test.cc).
constexpr double kDoubt = 1.25;

// So much faster and smaller than another plan's outline an estimate has to be to beat that plan,
// where no plan like it has been estimated: in those clusters outlines took up to 1.44 times as
// long as estimates.
constexpr double kClearly = .65;

// How many are estimated before those that are beaten are left out again: the same on all machines.
constexpr size_t kAtOnce = 4;
// So many times in a row none of them is faster than the fastest that fits: what follows is slower.
constexpr size_t kNoneFaster = 2;
// Schedules of one plan: the fastest may need too much memory.
constexpr size_t kOfASchedule = 2;

std::optional<EstimatedPlan> estimated(const Request& request, const ClusterPlan& plan,
                                       const Hwdb& hwdb, ModelCache& models) {
  Request with = with_plan(request, plan);
  with.trace = with.detail = with.minimum = false;
  auto e = estimate(with, hwdb, &models);
  models.clear();
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
                    .mfu = e->time.mfu,
                    .hfu = e->time.hfu,
                    .run_ns = e->time.run_ns ? e->time.run_ns : e->time.epoch_ns};
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

double seconds_of(const EstimatedPlan& plan) {
  return static_cast<double>(plan.priced.step_ns) * 1e-9;
}

// GPipe takes as long as 1F1B and holds as much or more: it is estimated where it is asked for.
bool holds_more(const ClusterPlan& plan, const Request& request) {
  return plan.stages > 1 && plan.schedule == Schedule::kForwardFirst && !request.parallel.schedule;
}

}  // namespace

bool PricedPlans::is_promising(const Compared& compared) const {
  return !compared.estimated && !holds_more(compared.plan, request_) && may_fit(compared) &&
         !is_beaten(compared);
}

bool PricedPlans::may_fit(const Compared& compared) const {
  return compared.corrected ? compared.likely.bytes <= platform_.usable_bytes
                            : is_close(compared.outline, platform_);
}

// Whether a plan that fits is both faster and smaller.
bool PricedPlans::is_beaten(const Compared& compared) const {
  const PlanOutline& likely = compared.likely;
  const double share = compared.corrected ? 1 : kClearly;
  return std::ranges::any_of(estimated_, [&](const EstimatedPlan& e) {
    return e.priced.verdict == Verdict::kFits && seconds_of(e) <= share * likely.seconds &&
           static_cast<double>(e.priced.device_bytes) <= share * static_cast<double>(likely.bytes);
  });
}

double PricedPlans::highest_pace() const {
  double highest = 0;
  for (const EstimatedPlan& e : estimated_) {
    if (e.priced.verdict == Verdict::kFits)
      highest = std::max(highest, e.priced.samples_per_second);
  }
  return highest;
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

// Larger micro-batches of a block are of interest while a plan with this one may fit.
void PricedPlans::price_blocks(std::span<const ClusterPlan> plans, size_t threads) {
  std::map<BlockSettings, std::vector<const ClusterPlan*>> by_block;
  std::vector<BlockSettings> wanted;
  for (const ClusterPlan& plan : plans) {
    std::vector<const ClusterPlan*>& alike = by_block[plan.block];
    if (alike.empty()) wanted.push_back(plan.block);
    alike.push_back(&plan);
  }
  const auto may_fit = [&](const BlockSettings& block, const NetworkPrice& price) {
    return std::ranges::any_of(by_block.at(block), [&](const ClusterPlan* plan) {
      return kept_bytes(*plan, price) <= platform_.usable_bytes &&
             is_close(outline_of(*plan, price, platform_), platform_);
    });
  };
  prices_.add(wanted, threads, may_fit);
}

// What the model cannot be split into, and what keeps more than there is.
void PricedPlans::leave_out(std::span<const ClusterPlan> plans) {
  std::map<BlockSettings, int64_t> least;  // micro-batch of a block
  for (const ClusterPlan& plan : plans) {
    const auto [at, is_new] = least.emplace(plan.block.at_batch(0), plan.block.micro_batch);
    at->second = std::min(at->second, plan.block.micro_batch);
  }
  for (const ClusterPlan& plan : plans) {
    const int64_t batch = least.at(plan.block.at_batch(0));
    const NetworkPrice* price = prices_.find(plan.block.at_batch(batch));
    const bool stays_whole = price && plan.stages > 1 && price->blocks < plan.stages;
    if (!price || stays_whole) {
      ++counts_.refused;
    } else {
      note_kept(plan, kept_bytes(plan, *price));
    }
  }
  counts_.considered = static_cast<int64_t>(plans.size());
}

void PricedPlans::compare() {
  for (const ClusterPlan& plan : kept_) {
    const NetworkPrice* price = prices_.find(plan.block);
    if (price) {
      const PlanOutline outline = outline_of(plan, *price, platform_);
      compared_.push_back({plan, outline, outline});
    }
    if (!price || !is_close(compared_.back().outline, platform_)) ++counts_.too_large;
  }
  counts_.compared = static_cast<int64_t>(kept_.size());
  std::ranges::stable_sort(compared_, {}, [](const Compared& c) { return c.likely.seconds; });
}

// By what was estimated so far.
void PricedPlans::correct() {
  for (Compared& c : compared_) {
    const auto likely = deviations_.corrected(c.plan, c.outline);
    c.corrected = likely.has_value();
    if (likely) c.likely = *likely;
  }
  std::ranges::stable_sort(compared_, {}, [](const Compared& c) { return c.likely.seconds; });
}

// The next few of those that look fastest.
std::vector<size_t> PricedPlans::fastest(const PlanEffort& effort) const {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < compared_.size() && chosen.size() < kAtOnce; ++i) {
    if (tried_ + chosen.size() >= effort.fastest) break;
    if (!is_promising(compared_[i])) continue;
    size_t of_mesh = 0, of_schedule = 0;
    const auto count = [&](const ClusterPlan& tried) {
      of_mesh += tried.same_mesh(compared_[i].plan) ? 1 : 0;
      of_schedule += tried.same_but_schedule(compared_[i].plan) ? 1 : 0;
    };
    for (const Compared& c : compared_) {
      if (c.estimated) count(c.plan);
    }
    for (const size_t other : chosen) count(compared_[other].plan);
    if (of_mesh < effort.of_a_mesh && of_schedule < kOfASchedule) chosen.push_back(i);
  }
  return chosen;
}

// Of those that no other seems to beat in memory and time, some, from the fastest to the smallest.
std::vector<size_t> PricedPlans::pareto(size_t most) const {
  std::vector<MemoryAndPace> points;
  for (const Compared& c : compared_)
    points.push_back({c.likely.bytes, 1 / c.likely.seconds, is_promising(c)});
  const std::vector<char> leads = pareto_front(points);
  std::vector<size_t> leading, chosen;
  for (size_t i = 0; i < compared_.size(); ++i) {
    if (leads[i]) leading.push_back(i);
  }
  const size_t count = std::min(most, leading.size());
  for (size_t i = 0; i < count; ++i)
    chosen.push_back(leading[count > 1 ? i * (leading.size() - 1) / (count - 1) : 0]);
  return chosen;
}

std::vector<size_t> PricedPlans::smallest(size_t most) const {
  std::vector<size_t> order;
  for (size_t i = 0; i < compared_.size(); ++i) {
    if (!compared_[i].estimated && !holds_more(compared_[i].plan, request_)) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](size_t i) { return compared_[i].likely.bytes; });
  order.resize(std::min(order.size(), most));
  return order;
}

void PricedPlans::estimate_all(std::vector<size_t> chosen, size_t threads) {
  std::erase_if(chosen, [&](size_t i) { return compared_[i].estimated; });
  tried_ += chosen.size();
  const auto make_worker = [&]() -> Worker<std::optional<EstimatedPlan>> {
    return [&, models = std::make_shared<ModelCache>()](size_t unit) {
      return estimated(request_, compared_[chosen[unit]].plan, hwdb_, *models);
    };
  };
  size_t done = 0;
  const std::function<bool(std::optional<EstimatedPlan>)> use =
      [&](std::optional<EstimatedPlan> plan) {
        Compared& of = compared_[chosen[done++]];
        of.estimated = true;
        if (!plan) return true;
        deviations_.note(of.plan, of.outline, plan->priced.device_bytes, seconds_of(*plan));
        estimated_.push_back(std::move(*plan));
        return true;
      };
  work_in_order<std::optional<EstimatedPlan>>(chosen.size(), threads, make_worker, use);
  correct();
  counts_.estimated = static_cast<int64_t>(estimated_.size());
}

std::vector<EstimatedPlan> PricedPlans::run(std::span<const ClusterPlan> plans,
                                            const PlanEffort& effort, size_t threads) {
  price_blocks(plans, threads);
  leave_out(plans);
  compare();
  for (size_t slower = 0; slower < kNoneFaster;) {
    std::vector<size_t> next = fastest(effort);
    if (next.empty()) break;
    const double before = highest_pace();
    estimate_all(std::move(next), threads);
    slower = before > 0 && highest_pace() <= before ? slower + 1 : 0;
  }
  estimate_all(pareto(effort.smallest), threads);
  if (highest_pace() == 0) estimate_all(smallest(effort.smallest), threads);
  std::ranges::stable_sort(estimated_, [](const EstimatedPlan& a, const EstimatedPlan& b) {
    return a.priced.samples_per_second > b.priced.samples_per_second;
  });
  return std::move(estimated_);
}

}  // namespace plimsoll
