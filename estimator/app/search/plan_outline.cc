#include "estimator/app/search/plan_outline.h"

#include <algorithm>
#include <set>

#include "estimator/time/step_conditions.h"

namespace plimsoll {
namespace {

// As exposed_exchange() has it: a collective beside a step's kernels gets on so much slower.
constexpr double kOverlapRate = .5;

// DeepSpeed's bucket of 500 million elements, twice (deepspeed/runtime/zero/config.py).
constexpr int64_t kZeroBuckets = int64_t{2} * 500'000'000 * 2;

std::set<int64_t> kinds_of_stages(int64_t stages) {
  return {0, std::min<int64_t>(1, stages - 1), stages - 1};
}

// Of what a stage keeps of its weights; experts that ranks share have fewer sharers.
int64_t shared(int64_t bytes, const ClusterPlan& plan, const BlockPrice& stage, Sharded from) {
  if (plan.sharding.what < from) return bytes;
  const double apart = plan.block.experts > 1 ? stage.experts_share() : 0;
  const auto experts = static_cast<int64_t>(apart * static_cast<double>(bytes));
  return experts / plan.sharers_of_experts() + (bytes - experts) / plan.sharers();
}

// What the host has of states and gradients: those that a library of sharding keeps in parts.
bool updates_on_host(const ClusterPlan& plan) {
  return plan.offload.states || (plan.sharding.fsdp && plan.offload.parameters);
}

// Of one stage.
int64_t kept_of(const ClusterPlan& plan, const BlockPrice& stage) {
  const bool host = updates_on_host(plan);
  const bool whole = plan.sharding.what < Sharded::kGradients;
  return (plan.offload.parameters ? 0 : shared(stage.weights, plan, stage, Sharded::kWeights)) +
         (host && !whole ? 0 : shared(stage.gradients, plan, stage, Sharded::kGradients)) +
         (host ? 0 : shared(stage.states, plan, stage, Sharded::kStates));
}

// Seconds that an update takes longer where the host does it: its memory is read and written for
// weights, gradients and states, which the link brings or takes once.
double on_host(const ClusterPlan& plan, const BlockPrice& stage, const ExchangeByAxis& axes) {
  if (!updates_on_host(plan)) return 0;
  const ExchangeRates& rates = axes[kHostGroup].rates;
  const int64_t weights = shared(stage.weights, plan, stage, Sharded::kStates);
  const int64_t states = shared(stage.states, plan, stage, Sharded::kStates);
  return static_cast<double>(3 * weights + 2 * states) / rates.host_memory +
         static_cast<double>(weights) / rates.copy;
}

// What is whole for a moment of what is sharded: a block that is used and the next one, or all.
int64_t gathered(const ClusterPlan& plan, const NetworkPrice& price, const BlockPrice& stage) {
  const bool zero = plan.sharding.what != Sharded::kNothing && !plan.sharding.fsdp;
  const int64_t buckets = zero ? kZeroBuckets : 0;
  if (plan.sharding.what != Sharded::kWeights) return buckets;
  const int64_t weights =
      plan.sharding.keeps_gathered || price.blocks == 1
          ? stage.weights
          : 2 * price.middle.weights + std::max(price.first.weights, price.last.weights);
  return buckets + weights + price.middle.gradients;
}

int64_t bytes_of(const ClusterPlan& plan, const NetworkPrice& price, int64_t at) {
  const BlockPrice stage = price.stage(at, plan.stages);
  const int64_t kept = kept_of(plan, stage);
  const auto saved = static_cast<int64_t>(plan.in_flight(at) * static_cast<double>(stage.saved));
  const int64_t in_pass = saved + stage.in_pass;
  const int64_t in_update =
      updates_on_host(plan) ? 0 : shared(stage.in_update, plan, stage, Sharded::kStates);
  return price.context_bytes + kept + std::max(in_pass + gathered(plan, price, stage), in_update);
}

double seconds_of(CollectiveKind kind, int64_t bytes, const GroupExchange& among) {
  const auto& [group, rates, pieces] = among;
  return collective_seconds(kind, static_cast<double>(bytes), group.per_node, rates.link) +
         collective_seconds(kind, static_cast<double>(bytes), group.nodes, rates.network);
}

// What gradients and sharded weights wait for, beyond what passes hide.
struct Waiting {
  double each_pass = 0, update = 0;
};

Waiting waiting_of(const ClusterPlan& plan, const BlockPrice& stage, const ExchangeByAxis& axes) {
  // Those that share sequences and experts take part in the first exchange that there is.
  const bool shards = plan.sharding.what != Sharded::kNothing;
  const GroupExchange& group = axes[static_cast<size_t>(Axis::kShard) + kAxisCount];
  const GroupExchange& data = axes[static_cast<size_t>(Axis::kData) + (shards ? 0 : kAxisCount)];
  const auto beyond = [](double exchange, double work) {
    return std::max(0.0, exchange - kOverlapRate * work);
  };
  const double forward = stage.pass - stage.backward;
  const double gather = seconds_of(CollectiveKind::kAllGather, stage.weights, group);
  const double scatter = seconds_of(CollectiveKind::kReduceScatter, stage.gradients, group);
  const double sum = seconds_of(CollectiveKind::kAllReduce,
                                shared(stage.gradients, plan, stage, Sharded::kGradients), data);
  Waiting waits;
  switch (plan.sharding.what) {
    case Sharded::kNothing:
      waits.update = beyond(sum, stage.backward);
      break;
    case Sharded::kStates:
      waits.update = beyond(scatter, stage.backward) + gather + sum;
      break;
    case Sharded::kGradients:
      waits.each_pass = beyond(scatter, stage.backward);
      waits.update = gather + sum;
      break;
    case Sharded::kWeights: {
      const double again = plan.sharding.keeps_gathered ? 0 : gather;
      waits.each_pass = beyond(gather, forward) + beyond(again + scatter, stage.backward);
      waits.update = sum;
      break;
    }
  }
  return waits;
}

// The first and the last stage sum the gradients of weights that both have.
double sum_of_shared(const ClusterPlan& plan, const NetworkPrice& price,
                     const ExchangeByAxis& axes) {
  if (plan.stages == 1 || price.twice.gradients <= 0) return 0;
  ExchangePoint sum;
  sum.axis = Axis::kStage;
  sum.bytes = shared(price.twice.gradients, plan, price.first, Sharded::kGradients);
  return collective_seconds(sum, *find_exchange_scheme("ring"), axes[sum.group()]);
}

// What other stages take of a micro-batch, in the mean, over what this one takes.
double pace_of_others(const ClusterPlan& plan, const NetworkPrice& price, const BlockPrice& stage) {
  if (plan.stages == 1 || stage.pass <= 0) return 1;
  const double others = price.stage(0, 1).pass - stage.pass;
  return others / (static_cast<double>(plan.stages - 1) * stage.pass);
}

}  // namespace

int64_t kept_bytes(const ClusterPlan& plan, const NetworkPrice& price) {
  int64_t most = 0;
  for (const int64_t at : kinds_of_stages(plan.stages))
    most = std::max(most, kept_of(plan, price.stage(at, plan.stages)));
  return price.context_bytes + most;
}

PlanOutline outline_of(const ClusterPlan& plan, const NetworkPrice& price,
                       const Platform& platform) {
  const ExchangeByAxis axes = exchange_by_axis(platform, plan.mesh());
  PlanOutline outline{.kept_bytes = kept_bytes(plan, price)};
  const double tied = sum_of_shared(plan, price, axes);
  for (const int64_t at : kinds_of_stages(plan.stages)) {
    outline.bytes = std::max(outline.bytes, bytes_of(plan, price, at));
    const BlockPrice stage = price.stage(at, plan.stages);
    const Waiting waits = waiting_of(plan, stage, axes);
    const auto parts =
        static_cast<double>(plan.sharding.what == Sharded::kNothing ? 1 : plan.sharers());
    const double turns =
        static_cast<double>(plan.passes) + plan.bubble() * pace_of_others(plan, price, stage);
    outline.seconds =
        std::max(outline.seconds, turns * (stage.pass + waits.each_pass) + stage.update / parts +
                                      waits.update + on_host(plan, stage, axes) + tied);
  }
  return outline;
}

}  // namespace plimsoll
