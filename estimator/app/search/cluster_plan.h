// ClusterPlan: one way to train a model on many GPUs, as the flags of a command say it: the axes of
// its mesh, what is sharded, the micro-batch and what is computed again.
//
//   for (const ClusterPlan& plan : cluster_plans(request, space))
//     estimate(with_plan(request, plan), hwdb);   // settings_of(plan): "--tp 8 --zero 1 --batch 2"
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "estimator/request/request.h"

namespace plimsoll {

// What ranks with samples of their own share of a model, and which library does it.
struct Sharding {
  Sharded what = Sharded::kNothing;
  bool fsdp = false;
  bool keeps_gathered = false;  // FSDP: weights stay gathered from forward to backward
  bool within_node = false;     // FSDP: each machine shards, and machines replicate (HSDP)
  bool operator==(const Sharding&) const = default;
};

// What a block's figures depend on.
struct BlockSettings {
  int64_t tensor = 1;   // ranks that split each operator
  int64_t context = 1;  // ... each sequence
  int64_t experts = 1;  // ... the experts, with samples of their own
  bool sequence_parallel = false;
  std::string checkpoint = "none";
  int64_t micro_batch = 1;

  // A block's weights, gradients and states are the same whatever its micro-batch is.
  BlockSettings at_batch(int64_t batch) const {
    BlockSettings other = *this;
    other.micro_batch = batch;
    return other;
  }
  auto operator<=>(const BlockSettings&) const = default;
};

struct ClusterPlan {
  BlockSettings block{};
  int64_t stages = 1;    // of a pipeline
  int64_t replicas = 1;  // ranks that have samples of their own
  Sharding sharding{};
  int64_t group = 1;   // ranks along the sharded axis
  int64_t passes = 1;  // micro-batches of an update
  Schedule schedule = Schedule::kOneForwardOneBackward;
  int64_t chunks = 1;  // of a stage, where it is interleaved
  Offload offload{};   // the request's

  // Replicas that have all experts, of several ranks each.
  int64_t whole_replicas() const { return replicas / block.experts; }
  // Ranks that share what is sharded, but experts: those that share sequences and experts do too.
  int64_t sharers() const { return group * block.context * block.experts; }
  // ... of experts: those that have the same ones.
  int64_t sharers_of_experts() const { return group * block.context; }
  Mesh mesh() const;
  // Micro-batches whose feature maps a stage holds at once: a part of one where a stage is in
  // chunks.
  double in_flight(int64_t stage) const;
  // Micro-batches that other stages take before a stage's first one and after its last one.
  double bubble() const;
  // Whether axes and sharding are the same, whatever the micro-batch and what is computed again.
  bool same_mesh(const ClusterPlan& other) const;
  // Whether the schedule alone may differ.
  bool same_but_schedule(const ClusterPlan& other) const;
};

// Which plans there are.
struct PlanSpace {
  int64_t gpus = 1, per_node = 1;
  int64_t blocks = 1;         // repeated ones, of which stages are made; 1: none
  int64_t contexts = 1;       // most ranks that share a sequence
  int64_t experts = 1;        // of a layer
  int64_t samples = 1;        // of all GPUs, an update
  bool may_shard = true;      // the framework has FSDP
  bool fixed_passes = false;  // the request's micro-batch and passes hold, where it gives them
};

// Every plan that shares the samples evenly: tensor parallelism within a machine, context and
// expert parallelism where the space has them, stages of at least a block each with a micro-batch
// for each stage or more, the rest along data, sharded or not; micro-batches of powers of two up to
// 64; each schedule, an interleaved one with chunks of as many blocks. What the request says of
// axes, sharding, schedule, checkpointing and offload stays as it is. ZeRO 2 and 3 have no stages:
// DeepSpeed refuses them (deepspeed/runtime/pipe/engine.py: "ZeRO-2 and ZeRO-3 are incompatible
// with pipeline parallelism"), and no stage 3 beside experts that ranks share (plan_on()). Cost:
// linear in plans.
std::vector<ClusterPlan> cluster_plans(const Request& request, const PlanSpace& space);

Request with_plan(Request request, const ClusterPlan& plan);
std::string settings_of(const ClusterPlan& plan);

}  // namespace plimsoll
