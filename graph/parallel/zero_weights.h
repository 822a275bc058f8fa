// ZeroWeights: stage 3 of ZeRO as DeepSpeed does it (deepspeed/runtime/zero/stage3.py and
// partitioned_param_coordinator.py): weights are gathered for each operator that reads them, and
// stay where they are needed again before so many others; small ones are always whole. A bucket of
// a fixed size and this device's part of all gradients are there for good.
//
// offload_optimizer: that part is in the host's memory, as are master weights and their gradients.
// What is summed goes there, comes back and goes once more in the type of the masters
// (stage3.py, 0.18, partition_grads()). offload_param: parts of weights are there, and come for
// each gathering; a single rank uses what it copies (NoGatherHandle).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/parallel/unit_observer.h"

namespace plimsoll::parallel {

// A unit for each node that reads a weight by itself, in the graph's order.
std::vector<Unit> readers_of_weights(const Graph& graph);

class ZeroWeights : public UnitObserver {
 public:
  // As ShardedTraining, of readers_of_weights().
  ZeroWeights(eager::Machine& m, const std::vector<Unit>& units, const Unit& around,
              std::span<const eager::Value> values);

  void begin_backward(bool last) override;
  void gradient_ready(eager::GradNode& leaf) override;
  void end_backward() override;

 protected:
  void before_unit(size_t unit, Pass pass) override;
  void after_unit(size_t unit, Pass pass) override;

 private:
  struct Group {
    std::vector<eager::Value> weights{};
    Dim count = 0, bytes = 0;
    bool bound = false;
  };

  void add(const Unit& unit, std::span<const eager::Value> values);
  bool is_needed_soon(size_t unit) const;
  void unbind(Group& group);
  void copy_directly(Group& group);
  void send_to_host(const eager::GradNode& leaf);
  const Offload& offload() const { return m_.recipe().parallel.offload; }
  eager::Value window_on_bucket(const Dim& count) const;
  void reduce();

  eager::Machine& m_;
  std::vector<Group> groups_;                // by unit
  eager::Value bucket_, part_;               // of gradients
  std::vector<eager::GradNode*> in_bucket_;  // whose gradients it has
  std::vector<uint32_t> leaving_;            // gradients on their way to the host
  Dim filled_ = 0;                           // of the bucket, elements
  bool last_ = false;
};

}  // namespace plimsoll::parallel
