// ZeroTraining: stages 1 and 2 of ZeRO as DeepSpeed does them (deepspeed/runtime/zero/
// stage_1_and_2.py, July 2026): weights and, in stage 1, gradients are whole on each device;
// gradients are copied to a bucket, which is joined once more to be summed, and what is this
// device's part of the sums is copied out of it. Weights are gathered in place behind the update.
#pragma once

#include <optional>

#include "graph/eager/machine.h"
#include "graph/parallel/holders.h"

namespace plimsoll::parallel {

// Elements of a bucket, whatever the model's size (deepspeed/runtime/zero/config.py,
// reduce_bucket_size).
inline constexpr int64_t kReduceBucket = 500000000;

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
  void put(eager::GradNode& leaf);
  void reduce();
  void sum(const Dim& bytes, const std::optional<Placement>& part);
  void give_gradients();

  eager::Machine& m_;
  eager::Value bucket_, part_;
  Dim filled_ = 0;      // of the bucket, elements
  Dim of_experts_ = 0;  // ... of gradients that fewer ranks sum
  bool last_ = false;   // of the step's backward passes
};

}  // namespace plimsoll::parallel
