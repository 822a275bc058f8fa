#include "estimator/app/search/block_price.h"

#include <algorithm>
#include <functional>
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
  one.gpu_count = settings.tensor * stages;
  one.nodes = 1;
  return one;
}

}  // namespace

BlockPrice& BlockPrice::operator+=(const BlockPrice& other) {
  weights += other.weights;
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
  return {weights * blocks,   gradients * blocks, states * blocks, saved * blocks, in_pass,
          in_update * blocks, pass * n,           backward * n,    update * n};
}

BlockPrice BlockPrice::operator-(const BlockPrice& other) const {
  return {weights - other.weights,
          gradients - other.gradients,
          states - other.states,
          saved - other.saved,
          in_pass,
          in_update - other.in_update,
          pass - other.pass,
          backward - other.backward,
          update - other.update};
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
}

Result<void> BlockPrices::begin(const BlockSettings& settings) {
  Request uncut = of_block(request_, settings, 1);
  uncut.batch = request_.batch;
  const auto whole = TRY(estimate_once(uncut, hwdb_));
  batch_ = std::max<int64_t>(1, whole.input.batch);
  if (blocks_ == 1) return {};
  if (!price(settings)) blocks_ = 1;
  return {};
}

// What single blocks add up to beyond the whole network.
Result<BlockPrice> BlockPrices::beyond_whole(const BlockSettings& settings) const {
  const auto cut = TRY(price(settings));
  if (cut.blocks == 1) return BlockPrice();
  const auto whole = TRY(estimate_once(of_block(request_, settings, 1), hwdb_));
  const BlockPrice all = cut.stage(0, 1), once = price_of(whole);
  return BlockPrice{.weights = all.weights - once.weights,
                    .gradients = all.gradients - once.gradients,
                    .states = all.states - once.states};
}

void BlockPrices::add_splits(std::span<const BlockSettings> wanted, size_t threads) {
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

Result<NetworkPrice> BlockPrices::price(const BlockSettings& settings) const {
  Request one = of_block(request_, settings, blocks_);
  NetworkPrice network{.blocks = blocks_, .first = {}, .middle = {}, .last = {}, .twice = {}};
  const auto at_stage = [&](int64_t stage) {
    one.parallel.rank = stage * settings.tensor;
    return estimate_once(one, hwdb_);
  };
  const auto middle = TRY(at_stage(blocks_ / 2));
  network.context_bytes = middle.memory.context_bytes;
  network.middle = network.first = network.last = price_of(middle);
  if (blocks_ == 1) return network;
  const auto first = TRY(at_stage(0));
  const auto last = TRY(at_stage(blocks_ - 1));
  network.first = price_of(first);
  network.last = price_of(last);
  const auto twice = twice_.find({settings.tensor, settings.sequence_parallel});
  if (twice != twice_.end()) network.twice = twice->second;
  return network;
}

void BlockPrices::note(const BlockSettings& settings, const Diagnostics& why) {
  ClusterPlan plan;
  plan.block.tensor = settings.tensor;
  if (why.empty()) return;
  const std::string what =
      settings.tensor > 1 ? setting("tp", std::to_string(settings.tensor)) : settings_of(plan);
  refusals_.emplace(what, why.front().message);
}

void BlockPrices::add(std::span<const BlockSettings> wanted, size_t threads) {
  std::vector<BlockSettings> missing;
  for (const BlockSettings& settings : wanted) {
    if (!known_.contains(settings)) missing.push_back(settings);
  }
  std::ranges::sort(missing);
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  add_splits(missing, threads);
  size_t next = 0;
  const auto make_worker = [&]() -> Worker<Result<NetworkPrice>> {
    return [&](size_t unit) { return price(missing[unit]); };
  };
  const std::function<bool(Result<NetworkPrice>)> use = [&](Result<NetworkPrice> priced) {
    const BlockSettings& settings = missing[next++];
    if (priced) {
      known_.emplace(settings, *priced);
    } else {
      note(settings, priced.error());
    }
    return true;
  };
  work_in_order<Result<NetworkPrice>>(missing.size(), threads, make_worker, use);
}

const NetworkPrice* BlockPrices::find(const BlockSettings& settings) const {
  const auto at = known_.find(settings);
  return at == known_.end() ? nullptr : &at->second;
}

}  // namespace plimsoll
