// DataParallel: what devices that train the same model on samples of their own tell each other in a
// step, as collectives among its events, and what that takes of their memory.
//
// PyTorch's DistributedDataParallel copies gradients into buckets (gradient_as_bucket_view=False,
// its default) that are summed over the devices as soon as the last gradient is in
// (torch/csrc/distributed/c10d/reducer.cpp), and sends the buffers before each forward pass;
// torch.nn.DataParallel sends all weights out and gathers their gradients; others sum array by
// array, or all at once behind the backward pass.
#pragma once

#include <unordered_map>
#include <vector>

#include "graph/eager/machine.h"
#include "graph/parallel/summed.h"

namespace plimsoll::parallel {

class DataParallel : public eager::Observer {
 public:
  // Plans buckets of `m`'s leaves as its policy has it, and their room where they are copies. A
  // bucket is closed by the tensor that reaches its limit (compute_bucket_assignment_by_size).
  // Weights of experts, whose gradients other ranks sum, are in buckets of their own.
  explicit DataParallel(eager::Machine& m);

  // Buffers of one type are joined, sent and copied back (_sync_module_buffers,
  // _broadcast_coalesced); weights are sent where one process feeds all.
  void begin_forward(std::span<const eager::Value> weights,
                     std::span<const eager::Value> buffers) override;

  // Gradients are summed in the last pass: what arrives goes with its bucket, what is left then
  // goes at the end, where the step waits for all.
  void begin_backward(bool last) override;
  void gradient_ready(eager::GradNode& leaf) override;
  void end_backward() override;

 private:
  struct Bucket {
    std::vector<const eager::GradNode*> leaves;
    Dim bytes;
    BufferId buffer = kNoBuffer;
    std::vector<SumAlong> sums{};
    bool of_experts = false;
    size_t arrived = 0;
  };

  void plan_buckets();
  bool in_chunks() const;
  void issue(Bucket& bucket);
  void exchange_at_once(CollectiveKind kind, const Dim& bytes, const std::vector<SumAlong>& sums);

  eager::Machine& m_;
  const ExchangeBehaviour& behaviour_;
  std::vector<Bucket> buckets_;
  std::unordered_map<const eager::GradNode*, size_t> bucket_of_;
  std::vector<uint32_t> issued_;  // and not awaited
  bool sums_ = false;
};

}  // namespace plimsoll::parallel
