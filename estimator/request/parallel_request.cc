#include "estimator/request/parallel_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

std::string_view name(size_t axis) { return kAxisNames[axis]; }

std::string product_text(const ParallelRequest& request) {
  std::string text;
  for (size_t axis = 0; axis < kAxisCount; ++axis) {
    if (request.axes[axis] > 0)
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name(axis), request.axes[axis]);
  }
  return text;
}

// Of the divisors the one that is nearest to `wanted`, the larger of two.
int64_t nearest_divisor(int64_t whole, int64_t wanted) {
  int64_t best = 1;
  for (int64_t d = 1; d <= whole; ++d) {
    if (whole % d == 0 && std::abs(d - wanted) <= std::abs(best - wanted)) best = d;
  }
  return best;
}

// Of a stage of an interleaved pipeline, where nobody says how many: the fewest that there are.
constexpr int64_t kDefaultChunks = 2;

// So many GPUs as the axes take, or other extents of the widest axis.
tl::unexpected<Diagnostics> undivided(const ParallelRequest& request, int64_t gpus) {
  const int64_t named = request.named();
  const auto widest =
      static_cast<size_t>(std::ranges::max_element(request.axes) - request.axes.begin());
  const int64_t others = named / request.axes[widest];
  const bool whole = request.axes[static_cast<size_t>(Axis::kData)] > 0;
  const int64_t times = whole ? 1 : std::max<int64_t>(1, (gpus + named / 2) / named);
  std::string help = setting("gpus", std::to_string(named * times));
  if (gpus % others == 0) {
    const int64_t fits =
        whole ? gpus / others : nearest_divisor(gpus / others, request.axes[widest]);
    help += fmt::format(", or {}={} for {} GPUs", name(widest), fits, gpus);
  }
  return error("E120",
               fmt::format("{} GPUs do not match {}, which needs {}", gpus, product_text(request),
                           whole ? std::to_string(named) : fmt::format("a multiple of {}", named)),
               {}, "nearest that work: " + help);
}

// FSDP's own stages are SHARD_GRAD_OP and FULL_SHARD: weights are parted in both, and stay gathered
// from forward to backward in the first.
void set_sharding(const ParallelRequest& request, ParallelPlan& plan) {
  if (!request.shards()) return;
  plan.sharded = request.fsdp ? Sharded::kWeights : static_cast<Sharded>(*request.zero);
  plan.sharded_by = !request.fsdp                           ? ShardedBy::kZero
                    : request.fsdp_version.value_or(2) == 1 ? ShardedBy::kFsdp1
                                                            : ShardedBy::kFsdp2;
  plan.reduce_type = request.reduce_type;
  plan.zero_fetch.prefetch = request.zero_prefetch.value_or(plan.zero_fetch.prefetch);
  plan.zero_fetch.live = request.zero_live.value_or(plan.zero_fetch.live);
  plan.zero_fetch.persistent = request.zero_persistent.value_or(plan.zero_fetch.persistent);
  plan.zero_bucket = request.zero_bucket.value_or(plan.zero_bucket);
  plan.keeps_gathered = request.fsdp && request.zero == static_cast<int64_t>(Sharded::kGradients);
}

// DeepSpeed has no stage 3 of layers of experts that ranks share: "MoE not supported with Stage 3"
// (deepspeed/runtime/engine.py, _configure_zero_optimizer()).
Result<void> check_experts(const ParallelPlan& plan) {
  const int64_t experts = plan.mesh.extent(Axis::kExpert);
  const bool parts = plan.sharded == Sharded::kWeights && plan.sharded_by == ShardedBy::kZero;
  if (experts == 1 || !parts) return {};
  return error("E120",
               fmt::format("{} and {}: DeepSpeed's stage 3 does not support expert parallelism",
                           setting("ep", std::to_string(experts)), setting("zero", "3")),
               {},
               fmt::format("nearest that work: {} or {}", setting("fsdp"), setting("zero", "2")));
}

tl::unexpected<Diagnostics> not_offloaded(std::string what, const std::string& instead) {
  return error("E120", fmt::format("{}: {}", setting("offload"), what), {},
               "nearest that work: " + instead);
}

// What libraries offload: FSDP all that it shards; DeepSpeed weights only with stage 3
// (deepspeed/runtime/zero/config.py, offload_param); of a model that nobody shards torchao the
// states, on one GPU (torchao/optim/cpu_offload.py).
Result<void> check_offload(const ParallelRequest& request, const ParallelPlan& plan, int64_t gpus) {
  const Offload& offload = plan.offload;
  if (!offload.keeps()) return {};
  if (request.gradient_buffer)
    return not_offloaded(fmt::format("gradients that {} keeps on the GPU do not go to the host",
                                     setting("gradient-buffer")),
                         setting("zero", "2"));
  if (request.fsdp && !request.offload.parameters)
    return not_offloaded("FSDP offloads weights, gradients and states together",
                         setting("offload", "parameters"));
  if (plan.master_copies)
    return not_offloaded(fmt::format("copies that {} keeps on the GPU do not go to the host",
                                     setting("master-copies")),
                         fmt::format("{} without it", setting("offload", "parameters")));
  const bool whole = plan.sharded < Sharded::kWeights;
  if (offload.parameters && whole && request.zero)
    return not_offloaded("DeepSpeed offloads weights only with stage 3", setting("zero", "3"));
  if (offload.parameters && whole)
    return not_offloaded("weights come from the host where FSDP or ZeRO gathers them",
                         fmt::format("{} or {}", setting("fsdp"), setting("zero", "3")));
  if (plan.sharded == Sharded::kNothing && gpus > 1)
    return not_offloaded("states that each GPU has whole are offloaded only on one GPU",
                         fmt::format("{} or {}", setting("zero", "1"), setting("zero", "2")));
  return {};
}

}  // namespace

int64_t ParallelRequest::named() const {
  int64_t product = 1;
  for (const int64_t ranks : axes) product *= std::max<int64_t>(1, ranks);
  return product;
}

Result<ParallelPlan> plan_on(const ParallelRequest& request, int64_t gpus) {
  const auto is_given = [&](Axis axis) { return request.axes[static_cast<size_t>(axis)] > 0; };
  const int64_t rest = gpus / request.named();
  if (rest * request.named() != gpus || (rest > 1 && is_given(Axis::kData)))
    return undivided(request, gpus);
  if (request.fsdp && request.zero == static_cast<int64_t>(Sharded::kStates)) {
    return error(
        "E114",
        fmt::format("{} and {}: FSDP shards gradients too", setting("fsdp"), setting("zero", "1")),
        {}, fmt::format("remove {}, or use 2 or 3", setting("zero")));
  }
  if (request.rank >= gpus) {
    return error("E120", fmt::format("{}: ranks are 0 to {}",
                                     setting("rank", std::to_string(request.rank)), gpus - 1));
  }
  ParallelPlan plan;
  plan.mesh.rank = request.rank;
  plan.exchanges_last = request.no_sync;
  plan.master_copies = request.fsdp && request.master_copies;
  plan.adapters_apart = request.fsdp && !request.adapters_in_blocks;
  plan.schedule = request.schedule.value_or(plan.schedule);
  plan.balance = request.balance.value_or(plan.balance);
  if (plan.schedule == Schedule::kInterleaved)
    plan.chunks = request.chunks.value_or(kDefaultChunks);
  plan.context_by = request.context_by.value_or(plan.context_by);
  plan.capacity = request.capacity.value_or(plan.capacity);
  plan.sequence_parallel = request.sequence_parallel;
  plan.tensor_overlap = request.tensor_overlap;
  plan.offload = request.offload;
  if (request.fsdp && plan.offload.parameters) plan.offload.states = true;
  plan.split_loss = request.split_loss.value_or(plan.split_loss);
  plan.gradient_buffer = request.gradient_buffer.value_or(plan.gradient_buffer);
  for (size_t axis = 0; axis < kAxisCount; ++axis)
    plan.mesh.extents[axis] = std::max<int64_t>(1, request.axes[axis]);
  plan.mesh.extent(Axis::kData) *= rest;
  // Without a number of their own all ranks that have samples shard.
  if (request.shards() && !is_given(Axis::kShard))
    std::swap(plan.mesh.extent(Axis::kShard), plan.mesh.extent(Axis::kData));
  set_sharding(request, plan);
  TRY(check_experts(plan));
  TRY(check_offload(request, plan, gpus));
  return plan;
}

std::vector<int64_t> ranks_of_stages(const Mesh& mesh) {
  const int64_t stages = mesh.extent(Axis::kStage);
  if (stages == 1) return {mesh.rank};
  std::vector<int64_t> ranks;
  for (const int64_t stage : std::set<int64_t>{0, 1, stages - 2, stages - 1})
    ranks.push_back(stage * mesh.stride(Axis::kStage));
  return ranks;
}

std::string axes_text(const Mesh& mesh) {
  std::string text;
  for (size_t axis = 0; axis < kAxisCount; ++axis) {
    if (mesh.extents[axis] > 1)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name(axis), mesh.extents[axis]);
  }
  return text;
}

}  // namespace plimsoll
