#include "estimator/app/search/cluster_plan.h"

#include <algorithm>
#include <array>
#include <bit>

#include "graph/base/setting.h"
#include "graph/parallel/schedule.h"

namespace plimsoll {
namespace {

constexpr std::array kShardings = {
    Sharding{},
    Sharding{.what = Sharded::kStates},
    Sharding{.what = Sharded::kGradients},
    Sharding{.what = Sharded::kWeights},
    Sharding{.what = Sharded::kWeights, .fsdp = true},
    Sharding{.what = Sharded::kWeights, .fsdp = true, .keeps_gathered = true},
    Sharding{.what = Sharded::kWeights, .fsdp = true, .within_node = true}};

constexpr int64_t kLargestMicroBatch = 64, kMostPasses = 4096, kMostChunks = 8;

// Of a backward pass and a forward pass, what gradients of weights take: a third, as each product
// has two others that go back.
constexpr double kWeightsShare = 1. / 3;

int64_t requested(const Request& request, Axis axis) {
  return request.parallel.axes[static_cast<size_t>(axis)];
}

bool is_given(const Request& request, std::string_view name) {
  return request.given.contains(name);
}

// Powers of two up to `most`, or the one that is given.
std::vector<int64_t> powers(int64_t most, int64_t fixed = 0) {
  if (fixed > 0) return {fixed};
  std::vector<int64_t> all;
  for (int64_t n = 1; n <= most; n *= 2) all.push_back(n);
  return all;
}

class PlanList {
 public:
  PlanList(const Request& request, const PlanSpace& space) : request_(request), space_(space) {
    const bool fixed = is_given(request, "checkpoint") || request.recipe.checkpoint != "none";
    checkpoints_ = fixed ? std::vector<std::string>{request.recipe.checkpoint}
                         : std::vector<std::string>{"none", "blocks"};
    schedules_ = {Schedule::kOneForwardOneBackward, Schedule::kForwardFirst, Schedule::kInterleaved,
                  Schedule::kZeroBubble};
    if (request.parallel.schedule) schedules_ = {*request.parallel.schedule};
  }

  std::vector<ClusterPlan> all() {
    for (const int64_t tensor : powers(space_.per_node, requested(request_, Axis::kTensor))) {
      for (const int64_t context : powers(space_.contexts, requested(request_, Axis::kContext))) {
        const int64_t ranks = tensor * context;
        for (const int64_t stages : stages_with(ranks)) {
          if (space_.gpus % (ranks * stages) != 0) continue;
          ClusterPlan plan;
          plan.offload = request_.parallel.offload;
          plan.block.tensor = tensor;
          plan.block.context = context;
          plan.stages = stages;
          plan.replicas = space_.gpus / (ranks * stages);
          add_experts(plan);
        }
      }
    }
    return std::move(plans_);
  }

 private:
  // Beside `ranks` that split a block.
  std::vector<int64_t> stages_with(int64_t ranks) const {
    if (const int64_t stages = requested(request_, Axis::kStage); stages > 0) return {stages};
    std::vector<int64_t> all;
    for (int64_t n = 1; n <= std::min(space_.blocks, space_.gpus / ranks); ++n) {
      if (space_.gpus / ranks % n == 0) all.push_back(n);
    }
    return all;
  }

  void add_experts(ClusterPlan plan) {
    if (space_.samples % plan.replicas != 0) return;
    const int64_t fixed = requested(request_, Axis::kExpert);
    for (int64_t ranks = 1; ranks <= std::min(space_.experts, plan.replicas); ++ranks) {
      const bool divides = space_.experts % ranks == 0 && plan.replicas % ranks == 0;
      if (!divides || (fixed > 0 && ranks != fixed)) continue;
      plan.block.experts = ranks;
      add_shardings(plan);
    }
  }

  // Ranks of a group that shares; 0 where the request or the mesh does not have such.
  int64_t group_of(const Sharding& sharding, const ClusterPlan& plan) const {
    const ParallelRequest& shared = request_.parallel;
    const bool shards = sharding.what != Sharded::kNothing;
    const Offload& offload = shared.offload;
    const bool weights = sharding.what == Sharded::kWeights;
    if (sharding.fsdp ? offload.keeps() && !offload.parameters : offload.parameters && !weights)
      return 0;
    if (!shards && offload.keeps() && space_.gpus > 1) return 0;
    if (!shards) return shared.shards() ? 0 : 1;
    const int64_t replicas = plan.whole_replicas(), experts = plan.block.experts;
    if (!space_.may_shard || replicas * plan.block.context * experts == 1) return 0;
    const bool zero_3 = !sharding.fsdp && sharding.what == Sharded::kWeights;
    if (zero_3 && experts > 1) return 0;
    if (!sharding.fsdp && plan.stages > 1 && sharding.what > Sharded::kStates) return 0;
    if (shared.shards() && shared.fsdp != sharding.fsdp) return 0;
    if (shared.zero) {
      const bool same = sharding.fsdp ? sharding.keeps_gathered == (*shared.zero == 2)
                                      : static_cast<Sharded>(*shared.zero) == sharding.what;
      if (!same) return 0;
    }
    if (const int64_t group = requested(request_, Axis::kShard); group > 0)
      return !sharding.within_node && replicas % group == 0 ? group : 0;
    if (!sharding.within_node) return replicas;
    const int64_t within = plan.block.tensor * plan.block.context * experts;
    const int64_t group = space_.per_node % within == 0 ? space_.per_node / within : 0;
    return group > 1 && group < replicas && replicas % group == 0 ? group : 0;
  }

  void add_shardings(ClusterPlan plan) {
    for (const Sharding& sharding : kShardings) {
      plan.sharding = sharding;
      plan.group = group_of(sharding, plan);
      if (plan.group == 0) continue;
      if (const int64_t ranks = requested(request_, Axis::kData);
          ranks > 0 && ranks != plan.whole_replicas() / plan.group)
        continue;
      add_blocks(plan);
    }
  }

  void add_blocks(ClusterPlan plan) {
    for (const std::string& checkpoint : checkpoints_) {
      plan.block.checkpoint = checkpoint;
      for (const bool parts : {false, true}) {
        if (parts ? plan.block.tensor == 1 : request_.parallel.sequence_parallel) continue;
        plan.block.sequence_parallel = parts;
        add_passes(plan);
      }
    }
  }

  void add_passes(ClusterPlan plan) {
    const int64_t samples = space_.samples / plan.replicas;
    const bool fixed = space_.fixed_passes && is_given(request_, "batch");
    for (const int64_t micro : powers(kLargestMicroBatch, fixed ? *request_.batch : 0)) {
      if (samples % micro != 0) continue;
      plan.block.micro_batch = micro;
      plan.passes = samples / micro;
      if (plan.passes > kMostPasses || plan.passes < plan.stages) continue;
      if (space_.fixed_passes && is_given(request_, "accumulate") &&
          plan.passes != request_.recipe.accumulate)
        continue;
      for (const Schedule schedule : schedules_) {
        plan.schedule = schedule;
        if (plan.stages > 1 || schedule == schedules_.front()) add_chunks(plan);
      }
    }
  }

  // Of as many blocks in groups of as many micro-batches as there are stages
  // (megatron/core/pipeline_parallel/schedules.py). Gradients that ranks share are exchanged with
  // each backward pass, and wait for nothing.
  void add_chunks(ClusterPlan plan) {
    const bool shares_gradients = plan.sharding.what >= Sharded::kGradients && plan.sharers() > 1;
    if (plan.schedule == Schedule::kZeroBubble && plan.stages > 1 && shares_gradients) return;
    plan.chunks = 1;
    if (plan.schedule != Schedule::kInterleaved || plan.stages == 1) return plans_.push_back(plan);
    if (plan.passes % plan.stages != 0) return;
    const int64_t fixed = request_.parallel.chunks.value_or(0);
    for (plan.chunks = 2; plan.chunks <= std::max(kMostChunks, fixed); ++plan.chunks) {
      const bool same = space_.blocks % (plan.stages * plan.chunks) == 0;
      const bool wanted = fixed > 0 ? plan.chunks == fixed
                                    : std::has_single_bit(static_cast<uint64_t>(plan.chunks));
      if (wanted && (same || fixed > 0)) plans_.push_back(plan);
    }
  }

  const Request& request_;
  PlanSpace space_;
  std::vector<std::string> checkpoints_;
  std::vector<Schedule> schedules_;
  std::vector<ClusterPlan> plans_;
};

}  // namespace

namespace {

parallel::Stage stage_in(const ClusterPlan& plan, int64_t stage) {
  return {
      .stages = plan.stages, .stage = stage, .micro_batches = plan.passes, .chunks = plan.chunks};
}

}  // namespace

Mesh ClusterPlan::mesh() const {
  Mesh mesh;
  mesh.extent(Axis::kTensor) = block.tensor;
  mesh.extent(Axis::kContext) = block.context;
  mesh.extent(Axis::kExpert) = block.experts;
  mesh.extent(Axis::kStage) = stages;
  mesh.extent(Axis::kShard) = group;
  mesh.extent(Axis::kData) = whole_replicas() / group;
  return mesh;
}

double ClusterPlan::in_flight(int64_t stage) const {
  if (stages == 1) return 1;
  return static_cast<double>(parallel::most_in_flight(schedule, stage_in(*this, stage))) /
         static_cast<double>(chunks);
}

double ClusterPlan::bubble() const {
  if (stages == 1) return 0;
  return static_cast<double>(passes) *
         parallel::bubble_of(schedule, stage_in(*this, 0), kWeightsShare);
}

bool ClusterPlan::same_mesh(const ClusterPlan& other) const {
  return mesh() == other.mesh() && sharding == other.sharding;
}

bool ClusterPlan::same_but_schedule(const ClusterPlan& other) const {
  return same_mesh(other) && block == other.block && passes == other.passes;
}

std::vector<ClusterPlan> cluster_plans(const Request& request, const PlanSpace& space) {
  return PlanList(request, space).all();
}

Request with_plan(Request request, const ClusterPlan& plan) {
  ParallelRequest& shared = request.parallel;
  const auto axis = [&](Axis a) -> int64_t& { return shared.axes[static_cast<size_t>(a)]; };
  shared.axes = {};
  if (plan.block.tensor > 1) axis(Axis::kTensor) = plan.block.tensor;
  if (plan.block.context > 1) axis(Axis::kContext) = plan.block.context;
  if (plan.block.experts > 1) axis(Axis::kExpert) = plan.block.experts;
  if (plan.stages > 1) axis(Axis::kStage) = plan.stages;
  const bool shards = plan.sharding.what != Sharded::kNothing;
  if (shards && plan.group < plan.whole_replicas()) axis(Axis::kShard) = plan.group;
  shared.fsdp = plan.sharding.fsdp;
  shared.zero.reset();
  if (plan.sharding.keeps_gathered) shared.zero = static_cast<int64_t>(Sharded::kGradients);
  if (shards && !plan.sharding.fsdp) shared.zero = static_cast<int64_t>(plan.sharding.what);
  shared.sequence_parallel = plan.block.sequence_parallel;
  shared.schedule = plan.schedule;
  shared.chunks.reset();
  if (plan.chunks > 1) shared.chunks = plan.chunks;
  shared.rank = 0;
  request.given.erase("rank");
  request.batch = plan.block.micro_batch;
  request.recipe.accumulate = plan.passes;
  request.recipe.checkpoint = plan.block.checkpoint;
  return request;
}

namespace {

std::string_view word_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::kForwardFirst:
      return "gpipe";
    case Schedule::kInterleaved:
      return "interleaved";
    case Schedule::kZeroBubble:
      return "zb";
    case Schedule::kOneForwardOneBackward:
      break;
  }
  return "1f1b";
}

}  // namespace

std::string settings_of(const ClusterPlan& plan) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view value = {}) {
    text += (text.empty() ? "" : " ") + setting(name, value);
  };
  const auto number = [](int64_t n) { return std::to_string(n); };
  if (plan.block.tensor > 1) add("tp", number(plan.block.tensor));
  if (plan.block.sequence_parallel) add("sequence-parallel");
  if (plan.block.context > 1) add("cp", number(plan.block.context));
  if (plan.block.experts > 1) add("ep", number(plan.block.experts));
  if (plan.stages > 1) add("pp", number(plan.stages));
  if (plan.stages > 1 && plan.schedule != Schedule::kOneForwardOneBackward)
    add("schedule", word_of(plan.schedule));
  if (plan.chunks > 1) add("virtual-stages", number(plan.chunks));
  const bool part = plan.group < plan.whole_replicas();
  if (plan.sharding.fsdp) add("fsdp", part ? number(plan.group) : "");
  if (plan.sharding.keeps_gathered) add("zero", "2");
  if (!plan.sharding.fsdp && plan.sharding.what != Sharded::kNothing) {
    add("zero", number(static_cast<int64_t>(plan.sharding.what)));
    if (part) add("zero-group", number(plan.group));
  }
  add("batch", number(plan.block.micro_batch));
  if (plan.passes > 1) add(plan.stages > 1 ? "micro-batches" : "accumulate", number(plan.passes));
  if (plan.block.checkpoint != "none") add("checkpoint", plan.block.checkpoint);
  return text;
}

}  // namespace plimsoll
