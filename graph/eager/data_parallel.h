// DataParallel: what devices that train the same model tell each other in a step, as collectives
// among its events, and what that takes of their memory.
//
// PyTorch's DistributedDataParallel copies gradients into buckets (gradient_as_bucket_view=False,
// its default) that are summed over the devices as soon as the last gradient is in
// (torch/csrc/distributed/c10d/reducer.cpp), and sends the buffers before each forward pass;
// torch.nn.DataParallel sends all weights out and gathers their gradients; others sum array by
// array, or all at once behind the backward pass.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "graph/eager/machine.h"

namespace plimsoll::eager {

class DataParallel {
 public:
  // Plans buckets of `m`'s leaves as its policy's sharding has it, and their room where they are
  // copies: nothing for one device. A bucket is closed by the tensor that reaches its limit
  // (compute_bucket_assignment_by_size).
  explicit DataParallel(Machine& m);

  // Before a forward pass: buffers of one type are joined, sent and copied back
  // (_sync_module_buffers, _broadcast_coalesced); weights are sent where one process feeds all.
  void send(std::span<const Value> weights, std::span<const Value> buffers);

  // Around a backward pass whose gradients are summed: what arrives in between goes with its
  // bucket, what is left then goes at the end, where the step waits for all.
  void begin_sum();
  void end_sum();

 private:
  struct Bucket {
    std::vector<const GradNode*> leaves;
    Dim bytes;
    BufferId buffer = kNoBuffer;
    size_t arrived = 0;
  };

  void plan_buckets();
  void arrive(const GradNode& leaf);
  void issue(Bucket& bucket);
  void exchange_at_once(CollectiveKind kind, Dim bytes);

  Machine& m_;
  const ShardingPlan& plan_;
  std::vector<Bucket> buckets_;
  std::unordered_map<const GradNode*, size_t> bucket_of_;
  std::vector<uint32_t> issued_;  // and not awaited
  bool sums_ = false;
};

}  // namespace plimsoll::eager
