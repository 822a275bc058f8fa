// ParallelPlan: how a run is spread over devices, as its user decides: the mesh of ranks, and who
// holds what of the model. Beside the training plan, which says what is trained; how a framework
// then exchanges gradients is its own (graph/ir/exchange_behaviour.h).
#pragma once

#include <algorithm>
#include <optional>

#include "graph/ir/mesh.h"
#include "graph/ir/offload.h"
#include "graph/symbol/shape.h"

namespace plimsoll {

// A tensor of which each rank along `axis` has its part of one dimension; of experts that ranks
// share, each along Axis::kTensor has its part of their features too, where these are said.
struct Placement {
  Axis axis = Axis::kData;
  size_t dimension = 0;
  std::optional<size_t> features{};
  bool operator==(const Placement&) const = default;
};

// Of so much, what the first of `ranks` has: parts are equal, where they do not divide the last
// ones are smaller.
inline Dim part_of(const Dim& whole, int64_t ranks) {
  return ranks == 1 ? whole : floor_div(whole + (ranks - 1), ranks);
}
// ... and what the mesh's rank has. Of a size that is a symbol's: what the first has.
inline Dim part_of(const Dim& whole, Axis axis, const Mesh& given) {
  const Mesh mesh = axis == Axis::kShard ? given.joined(axis) : given;
  const Dim first = part_of(whole, mesh.extent(axis));
  const auto all = whole.constant(), part = first.constant();
  if (!all || !part) return first;
  return Dim(std::clamp<int64_t>(*all - mesh.coordinate(axis) * *part, 0, *part));
}
inline Shape part_of(Shape whole, const Placement& placed, const Mesh& mesh) {
  Dim& extent = whole[placed.dimension];
  extent = part_of(extent, placed.axis, mesh);
  if (placed.features)
    whole[*placed.features] = part_of(whole[*placed.features], Axis::kTensor, mesh);
  return whole;
}
inline Shape largest_part_of(Shape whole, const Placement& placed, const Mesh& mesh) {
  Dim& extent = whole[placed.dimension];
  extent = part_of(extent, placed.axis == Axis::kShard ? mesh.shards() : mesh.extent(placed.axis));
  return whole;
}

// What of a model's training each rank of Axis::kShard keeps no more than its part of, each with
// what stands before it: stages 0 to 3 of ZeRO (Rajbhandari et al., arXiv:1910.02054).
enum class Sharded : uint8_t { kNothing, kStates, kGradients, kWeights };

// What each rank of Axis::kShard then keeps of a tensor: its part of the first dimension, as FSDP2
// has it (torch/distributed/fsdp/_fully_shard/_fsdp_param.py); libraries that join tensors to one
// array and part that round less.
inline constexpr Placement kShardPart{Axis::kShard, 0};

// In which order a device runs the forward and backward passes of a step's micro-batches.
enum class Schedule : uint8_t {
  // As soon as a micro-batch can go back it does (PipeDream-flush: Narayanan et al.,
  // arXiv:2104.04473, 2.2.1): gradient accumulation, where there is one stage.
  kOneForwardOneBackward,
  kForwardFirst,  // all go forward, then all back (GPipe: Huang et al., arXiv:1811.06965)
  // A rank has several parts of the network, and takes a group of micro-batches through one before
  // it goes on with the next (Narayanan et al., arXiv:2104.04473, 2.2.2).
  kInterleaved,
  // A backward pass makes the gradients of what was received first, and those of weights where a
  // rank would wait: ZB-H1, which holds what kOneForwardOneBackward does (Qi et al.,
  // arXiv:2401.10241, 2.2).
  kZeroBubble,
};

// What a pipeline's stages have the same number of.
enum class StageBalance : uint8_t {
  kBlocks,
  kCost,  // elements of matrices, with those of the head (nanotron/models/base.py)
};

// How attention comes to the keys and values of a sequence of which each rank along Axis::kContext
// has a part.
enum class ContextBy : uint8_t {
  kRing,       // parts go around while each is attended to (Liu et al., arXiv:2310.01889)
  kAllGather,  // each rank gathers all (Llama Team, arXiv:2407.21783, 3.3.2)
  kUlysses,    // ranks exchange parts of sequences for heads (Jacobs et al., arXiv:2309.14509)
};

// Whose events sharding consists of.
enum class ShardedBy : uint8_t {
  kFsdp2,  // torch.distributed.fsdp.fully_shard
  kFsdp1,  // torch.distributed.fsdp.FullyShardedDataParallel
  kZero,   // DeepSpeed
};

// In which type gradients are sent to be summed and sharded.
enum class ReduceType : uint8_t { kFloat32, kBFloat16, kFloat16 };

// How far stage 3 of DeepSpeed's ZeRO gathers ahead, in elements of weights: as
// deepspeed/runtime/zero/config.py has it (July 2026).
struct ZeroFetch {
  int64_t prefetch = 50'000'000;  // stage3_prefetch_bucket_size: of what is asked for at once
  int64_t live = 1'000'000'000;   // stage3_max_live_parameters: gathered, or on their way
  int64_t reuse = 1'000'000'000;  // stage3_max_reuse_distance: until they are needed again
  int64_t persistent = 100'000;   // stage3_param_persistence_threshold: tensors that stay whole
  bool operator==(const ZeroFetch&) const = default;
};

// Whose loss takes scores of which each rank has made some classes.
enum class SplitLoss : uint8_t {
  kDTensor,   // torch.distributed.tensor.parallel.loss_parallel
  kMegatron,  // VocabParallelCrossEntropy, which works in place
  // None's: each rank gathers the scores, and computes the loss of all of them (transformers,
  // distributed/tensor_parallel.py, "colwise_gather_output").
  kGathered,
};

// When gradients of 16 bits go to one buffer in 32 bits, which stays between steps.
enum class GradientBuffer : uint8_t {
  kNone,       // never: there is none
  kAsReady,    // each as soon as it is whole (megatron/core/distributed/param_and_grad_buffer.py)
  kAfterPass,  // all after the backward pass (nanotron/optim/gradient_accumulator.py)
  // So too, and those of 16 bits stay until the next backward pass begins (DeepSpeed of
  // deepspeedai/DeepSpeed#1801, runtime/pipe/engine.py: clear_lp_grads(), then backward(), then
  // update_hp_grads(clear_lp_grads=False)).
  kUntilNext,
};

struct ParallelPlan {
  Mesh mesh;
  Schedule schedule = Schedule::kOneForwardOneBackward;
  StageBalance balance = StageBalance::kBlocks;
  int64_t chunks = 1;  // parts of the network that a stage has: Schedule::kInterleaved
  ContextBy context_by = ContextBy::kRing;
  // Of the tokens that each expert would get if all got as many, so many are sent to each, whoever
  // wants them; 0: as many as want it, which is taken to be as many for all.
  double capacity = 0;
  Sharded sharded = Sharded::kNothing;
  ShardedBy sharded_by = ShardedBy::kFsdp2;
  // Weights that were gathered for the forward pass stay for the backward pass: FSDP2's
  // reshard_after_forward=False, FSDP1's SHARD_GRAD_OP.
  bool keeps_gathered = false;
  // FSDP1: what is trained beside frozen weights of a unit is an array for itself, as peft has
  // adapters wrapped (peft/utils/other.py, fsdp_auto_wrap_policy).
  bool adapters_apart = false;
  // Of several backward passes the last one alone exchanges gradients: no_sync().
  bool exchanges_last = false;
  // What ranks of Axis::kTensor would all hold alike is parted along the sequence.
  bool sequence_parallel = false;
  // Collectives of split layers go in as many pieces as ranks, each beside the product of the one
  // before (Transformer Engine's userbuffers): --tp-comm-overlap of Megatron-LM.
  bool tensor_overlap = false;
  // Fully connected layers are split over the devices of Axis::kData: each has the weights of some
  // of their outputs and applies them to the samples of all.
  bool splits_layers = false;
  ZeroFetch zero_fetch{};
  int64_t zero_bucket = 500'000'000;  // reduce_bucket_size: elements that are summed at once
  // FSDP: parts are of the weights' 16 bits, beside which the optimizer has copies of 32 bits and
  // makes such gradients (InternLM/InternEvo, solver/optimizer/fsdp_optimizer.py); else parts are
  // of 32 bits themselves.
  bool master_copies = false;
  // Nothing: the library's own, for FSDP that of the parts that are kept, for DeepSpeed the
  // weights'.
  std::optional<ReduceType> reduce_type{};
  SplitLoss split_loss = SplitLoss::kDTensor;
  GradientBuffer gradient_buffer = GradientBuffer::kNone;
  Offload offload;
  bool operator==(const ParallelPlan&) const = default;

  // Whether a library of sharding runs: of one rank, where the host has what is sharded.
  bool is_sharded() const {
    return sharded != Sharded::kNothing && (mesh.shards() > 1 || offload.keeps());
  }
};

inline DType dtype_of(ReduceType type) {
  switch (type) {
    case ReduceType::kBFloat16:
      return DType::kBFloat16;
    case ReduceType::kFloat16:
      return DType::kFloat16;
    case ReduceType::kFloat32:
      break;
  }
  return DType::kFloat32;
}
inline DType sent_type(const ParallelPlan& plan, DType otherwise) {
  return plan.reduce_type ? dtype_of(*plan.reduce_type) : otherwise;
}

// Where gradients are parted too there is no buffer of all.
inline bool buffers_gradients(const ParallelPlan& plan) {
  return plan.gradient_buffer != GradientBuffer::kNone && plan.sharded < Sharded::kGradients;
}

}  // namespace plimsoll
