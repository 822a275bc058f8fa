// ParallelRequest: how the GPUs of a run share a model, as whoever asks says it; the mesh and the
// plan that it makes of so many GPUs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/ir/parallel_plan.h"

namespace plimsoll {

struct ParallelRequest {
  std::array<int64_t, kAxisCount> axes{};  // ranks along each; 0: not said
  bool fsdp = false;                       // PyTorch's, of all that is kept
  std::optional<int64_t> fsdp_version;     // 1 or 2, the newest where not said
  std::optional<int64_t> zero;             // stage of ZeRO
  bool sequence_parallel = false;          // what tp ranks hold alike is parted along the sequence
  bool tensor_overlap = false;             // products beside the collectives that they wait for
  std::optional<Schedule> schedule;        // of a pipeline's micro-batches
  std::optional<int64_t> chunks;           // of a stage; 2 where the schedule has several
  std::optional<StageBalance> balance;     // blocks where not said
  std::optional<ContextBy> context_by;     // a ring where not said
  std::optional<double> capacity;          // of experts
  std::optional<SplitLoss> split_loss;     // PyTorch's own where not said
  std::optional<GradientBuffer> gradient_buffer;  // none where not said
  std::optional<ReduceType> reduce_type;          // of gradients that are sent
  // Of stage 3 of ZeRO, in elements: ZeroFetch.
  std::optional<int64_t> zero_prefetch, zero_live, zero_persistent, zero_bucket;
  Offload offload;                  // what the host's memory has
  bool master_copies = false;       // FSDP: of 32 bits, beside parts of 16
  bool no_sync = false;             // gradients are exchanged in a step's last pass alone
  bool adapters_in_blocks = false;  // FSDP1: no policy wraps them for themselves
  int64_t rank = 0;
  bool operator==(const ParallelRequest&) const = default;

  int64_t named() const;  // GPUs that the axes take
  // Over the ranks of Axis::kShard, or all with samples of their own where that is not said.
  bool shards() const { return fsdp || zero; }
};

// The plan on so many GPUs; those that no axis takes have samples of their own. E120 where they
// cannot be shared so, or the host has no part of, with what can; E114 for stages that FSDP does
// not have.
Result<ParallelPlan> plan_on(const ParallelRequest& request, int64_t gpus);

// A rank of each kind of stage that a pipeline has: of the first, the last and those beside them;
// the mesh's own where there is one stage.
std::vector<int64_t> ranks_of_stages(const Mesh& mesh);

// "fsdp 8, dp 2": axes of more than one rank; empty for one GPU.
std::string axes_text(const Mesh& mesh);

}  // namespace plimsoll
