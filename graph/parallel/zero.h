// ZeroTraining: stages 1 and 2 of ZeRO as DeepSpeed does them (deepspeed/runtime/zero/
// stage_1_and_2.py, July 2026): weights and, in stage 1, gradients are whole on each device;
// gradients are copied to a bucket, which is joined once more to be summed, and what is this
// device's part of the sums is copied out of it. Weights are gathered in place behind the update.
//
// offload_optimizer: what is this device's of the sums goes to the host in the type of the master
// weights, weight by weight, and comes back as new weights; a buffer of the largest weight stays on
// the device (temp_grad_buffer_for_gpu_offload).
#pragma once

#include <optional>
#include <vector>

#include "graph/eager/machine.h"
#include "graph/parallel/holders.h"

namespace plimsoll::parallel {

// Gradients that are joined to be summed, in the type in which they are sent: themselves, or a copy
// (communication_data_type).
eager::Value sent_copy(eager::Machine& m, const eager::Value& joined, Stream stream);

class ZeroTraining : public eager::Observer {
 public:
  explicit ZeroTraining(eager::Machine& m);

  void begin_backward(bool last) override;
  void gradient_ready(eager::GradNode& leaf) override;
  void end_backward() override;
  void after_update() override;

 private:
  bool parts_gradients() const;
  eager::Value window_on_bucket(const Dim& count) const;
  eager::Value joined_bucket() const;
  void put(eager::GradNode& leaf);
  void reduce();
  void send_to_host();
  void keep_on_host();
  bool is_offloaded() const { return m_.recipe().parallel.offload.states; }
  void sum(const Dim& bytes, const std::optional<Placement>& part);
  void give_gradients();

  eager::Machine& m_;
  eager::Value bucket_, part_;
  // A gradient that no bucket has room for, which is summed where it is (stage_1_and_2.py,
  // extra_large_param_to_reduce).
  eager::Value large_;
  std::vector<eager::GradNode*> in_bucket_;  // whose gradients it has
  std::vector<uint32_t> leaving_;            // gradients on their way to the host
  Dim filled_ = 0;                           // of the bucket, elements
  Dim of_experts_ = 0;                       // ... of gradients that fewer ranks sum
  int64_t passes_ = 0;                       // of the step, that are over
  bool last_ = false;                        // of the step's backward passes
};

}  // namespace plimsoll::parallel
