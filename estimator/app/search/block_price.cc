#include "estimator/app/search/block_price.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "estimator/evaluator.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/base/work_in_order.h"
#include "graph/parallel/stage.h"

namespace plimsoll {
namespace {

constexpr int64_t kFewestToCut = 3;

double seconds(int64_t ns) { return static_cast<double>(std::max<int64_t>(0, ns)) * 1e-9; }

BlockPrice price_of(const Estimate& e) {
  const MemoryEstimate& m = e.memory;
  const TimeEstimate& t = e.time;
  const auto temporary = [&](Phase phase) { return m.max_temporary[static_cast<size_t>(phase)]; };
  const double passes = seconds(t.step_ns - t.bubble_ns - t.update_ns - t.framework_ns);
  const double both = seconds(t.forward_ns + t.backward_ns);
  return {.weights = m.parameter_bytes,
          .gradients = m.gradient_bytes,
          .states = m.optimizer_state_bytes,
          .saved = m.saved_bytes,
          .in_pass = std::max(
              {temporary(Phase::kForward), temporary(Phase::kLoss), temporary(Phase::kBackward)}),
          .in_update = temporary(Phase::kUpdate),
          .pass = passes,
          .backward = both > 0 ? passes * seconds(t.backward_ns) / both : 0,
          .update = seconds(t.update_ns)};
}

Request of_block(const Request& request, const BlockSettings& settings, int64_t stages) {
  ClusterPlan plan;
  plan.block = settings;
  plan.stages = stages;
  Request one = with_plan(request, plan);
  const int64_t ranks = settings.tensor * settings.context * settings.experts;
  const int64_t per_node = request.gpu_count / request.nodes;
  one.gpu_count = ranks * stages;
  one.nodes = ranks > per_node && ranks % per_node == 0 ? one.gpu_count / per_node : 1;
  return one;
}

}  // namespace

BlockPrice& BlockPrice::operator+=(const BlockPrice& other) {
  weights += other.weights;
  experts += other.experts;
  gradients += other.gradients;
  states += other.states;
  saved += other.saved;
  in_pass = std::max(in_pass, other.in_pass);
  in_update += other.in_update;
  pass += other.pass;
  backward += other.backward;
  update += other.update;
  return *this;
}

BlockPrice BlockPrice::operator*(int64_t blocks) const {
  const auto n = static_cast<double>(blocks);
  return {.weights = weights * blocks,
          .gradients = gradients * blocks,
          .states = states * blocks,
          .experts = experts * blocks,
          .saved = saved * blocks,
          .in_pass = in_pass,
          .in_update = in_update * blocks,
          .pass = pass * n,
          .backward = backward * n,
          .update = update * n};
}

BlockPrice BlockPrice::operator-(const BlockPrice& other) const {
  return {.weights = weights - other.weights,
          .gradients = gradients - other.gradients,
          .states = states - other.states,
          .experts = experts - other.experts,
          .saved = saved - other.saved,
          .in_pass = in_pass,
          .in_update = in_update - other.in_update,
          .pass = pass - other.pass,
          .backward = backward - other.backward,
          .update = update - other.update};
}

BlockPrice NetworkPrice::stage(int64_t stage, int64_t stages) const {
  BlockPrice sum = middle * parallel::blocks_of_stage(blocks, stages, stage);
  if (stage == 0) sum += first - middle;
  if (stage + 1 == stages) sum += last - middle;
  if (stages > 1) return sum;
  sum.weights -= twice.weights;
  sum.gradients -= twice.gradients;
  sum.states -= twice.states;
  return sum;
}

BlockPrices::BlockPrices(const Request& request, const Hwdb& hwdb, int64_t blocks)
    : request_(request), hwdb_(hwdb), blocks_(blocks < kFewestToCut ? 1 : blocks) {
  request_.trace = request_.detail = request_.minimum = false;
  // A rank that shares with nobody has what the host would have of a plan (plan_outline.h).
  request_.parallel.offload = {.activations = request.parallel.offload.activations};
}

namespace {

// What single blocks add up to beyond the whole network.
BlockPrice beyond(const NetworkPrice& cut, const Estimate& whole) {
  const BlockPrice all = cut.stage(0, 1), once = price_of(whole);
  return {.weights = all.weights - once.weights,
          .gradients = all.gradients - once.gradients,
          .states = all.states - once.states};
}

}  // namespace

Result<void> BlockPrices::begin(const BlockSettings& settings) {
  Request uncut = of_block(request_, settings, 1);
  uncut.batch = request_.batch;
  const auto whole = TRY(estimate_once(uncut, hwdb_));
  batch_ = std::max<int64_t>(1, whole.input.batch);
  if (blocks_ == 1) return {};
  ModelCache models;
  const auto cut = price(settings, models);
  if (!cut) {
    blocks_ = 1;
    return {};
  }
  const BlockPrice twice = beyond(*cut, whole);
  ends_share_ = twice.weights != 0 || twice.gradients != 0 || twice.states != 0;
  return {};
}

Result<BlockPrice> BlockPrices::beyond_whole(const BlockSettings& settings) const {
  ModelCache models;
  const auto cut = TRY(price(settings, models));
  if (cut.blocks == 1) return BlockPrice();
  const auto whole = TRY(estimate_once(of_block(request_, settings, 1), hwdb_));
  return beyond(cut, whole);
}

void BlockPrices::add_splits(std::span<const BlockSettings> wanted, size_t threads) {
  if (!ends_share_) return;
  std::map<Split, BlockSettings> missing;
  for (const BlockSettings& settings : wanted) {
    const Split split{settings.tensor, settings.sequence_parallel};
    if (!twice_.contains(split)) missing.emplace(split, settings);
  }
  std::vector<std::pair<Split, BlockSettings>> units(missing.begin(), missing.end());
  size_t next = 0;
  const auto make_worker = [&]() -> Worker<Result<BlockPrice>> {
    return [&](size_t unit) { return beyond_whole(units[unit].second); };
  };
  const std::function<bool(Result<BlockPrice>)> use = [&](const Result<BlockPrice>& twice) {
    const auto& [split, settings] = units[next++];
    twice_.emplace(split, twice ? *twice : BlockPrice());
    return true;
  };
  work_in_order<Result<BlockPrice>>(units.size(), threads, make_worker, use);
}

// Experts that n ranks share are an n-th of those that one rank has; all else is the same.
Result<int64_t> BlockPrices::experts_of(const BlockSettings& settings, const BlockPrice& middle,
                                        ModelCache& models) const {
  if (settings.experts == 1) return 0;
  BlockSettings unshared = settings;
  unshared.experts = 1;
  Request one = of_block(request_, unshared, blocks_);
  one.parallel.rank = blocks_ / 2 * unshared.tensor * unshared.context;
  const auto whole = TRY(estimate_once(one, hwdb_, &models));
  return (whole.memory.parameter_bytes - middle.weights) / (settings.experts - 1);
}

Result<NetworkPrice> BlockPrices::price(const BlockSettings& settings, ModelCache& models) const {
  Request one = of_block(request_, settings, blocks_);
  NetworkPrice network{.blocks = blocks_, .first = {}, .middle = {}, .last = {}, .twice = {}};
  const auto at_stage = [&](int64_t stage) {
    one.parallel.rank = stage * settings.tensor * settings.context * settings.experts;
    return estimate_once(one, hwdb_, &models);
  };
  const auto middle = TRY(at_stage(blocks_ / 2));
  network.context_bytes = middle.memory.context_bytes;
  network.middle = price_of(middle);
  network.middle.experts = TRY(experts_of(settings, network.middle, models));
  network.first = network.last = network.middle;
  if (blocks_ == 1) return network;
  const auto first = TRY(at_stage(0));
  const auto last = TRY(at_stage(blocks_ - 1));
  network.first = price_of(first);
  network.last = price_of(last);
  network.first.experts = network.last.experts = network.middle.experts;
  const auto twice = twice_.find({settings.tensor, settings.sequence_parallel});
  if (twice != twice_.end()) network.twice = twice->second;
  return network;
}

BlockPrices::Priced BlockPrices::price_all(std::span<const BlockSettings> wanted,
                                           const GoesOn& goes_on, ModelCache& models) const {
  Priced priced;
  for (const BlockSettings& settings : wanted) {
    const auto& [last, price] = priced.emplace_back(settings, this->price(settings, models));
    if (!price || (goes_on && !goes_on(settings, *price))) break;
  }
  models.clear();
  return priced;
}

void BlockPrices::note(const BlockSettings& settings, const Diagnostics& why) {
  if (why.empty()) return;
  std::string what;
  for (const auto& [name, ranks] :
       {std::pair("tp", settings.tensor), std::pair("cp", settings.context),
        std::pair("ep", settings.experts)}) {
    if (ranks > 1) what += (what.empty() ? "" : " ") + setting(name, std::to_string(ranks));
  }
  if (what.empty()) what = setting("batch", std::to_string(settings.micro_batch));
  const std::string& message = why.front().message;
  const bool is_known =
      std::ranges::any_of(refusals_, [&](const auto& r) { return r.second == message; });
  if (!is_known) refusals_.emplace(what, message);
}

void BlockPrices::add(std::span<const BlockSettings> wanted, size_t threads,
                      const GoesOn& goes_on) {
  std::vector<BlockSettings> missing;
  for (const BlockSettings& settings : wanted) {
    if (!known_.contains(settings)) missing.push_back(settings);
  }
  std::ranges::sort(missing);
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  add_splits(missing, threads);
  std::vector<std::span<const BlockSettings>> units;  // of one way to split and fill a block
  for (size_t begin = 0, end = 0; begin < missing.size(); begin = end) {
    for (end = begin;
         end < missing.size() && missing[end].at_batch(0) == missing[begin].at_batch(0);)
      ++end;
    units.push_back(std::span(missing).subspan(begin, end - begin));
  }
  const auto make_worker = [&]() -> Worker<Priced> {
    return [&, models = std::make_shared<ModelCache>()](size_t unit) {
      return price_all(units[unit], goes_on, *models);
    };
  };
  const std::function<bool(Priced)> use = [&](const Priced& priced) {
    for (const auto& [settings, price] : priced) {
      if (price) {
        known_.emplace(settings, *price);
      } else {
        note(settings, price.error());
      }
    }
    return true;
  };
  work_in_order<Priced>(units.size(), threads, make_worker, use);
}

const NetworkPrice* BlockPrices::find(const BlockSettings& settings) const {
  const auto at = known_.find(settings);
  return at == known_.end() ? nullptr : &at->second;
}

}  // namespace plimsoll
