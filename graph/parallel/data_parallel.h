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

namespace plimsoll::parallel {

class DataParallel : public eager::Observer {
 public:
  // Plans buckets of `m`'s leaves as its policy has it, and their room where they are copies. A
  // bucket is closed by the tensor that reaches its limit (compute_bucket_assignment_by_size).
  // `axes`: along which devices have samples of their own and gradients of the same weights, which
  // are summed along one after the other.
  DataParallel(eager::Machine& m, std::vector<Axis> axes);

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
    size_t arrived = 0;
  };

  void plan_buckets();
  void issue(Bucket& bucket);
  void exchange_at_once(CollectiveKind kind, const Dim& bytes);

  eager::Machine& m_;
  std::vector<Axis> axes_;
  const ExchangeBehaviour& behaviour_;
  std::vector<Bucket> buckets_;
  std::unordered_map<const eager::GradNode*, size_t> bucket_of_;
  std::vector<uint32_t> issued_;  // and not awaited
  bool sums_ = false;
};

}  // namespace plimsoll::parallel
