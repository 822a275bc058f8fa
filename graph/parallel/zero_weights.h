// ZeroWeights: stage 3 of ZeRO as DeepSpeed does it (deepspeed/runtime/zero/stage3.py,
// partitioned_param_coordinator.py and partition_parameters.py, July 2026): weights are gathered
// for each operator that reads them, and stay where they are needed again before so many others;
// small ones are always whole. Each time some are there the next ones are asked for, in the order
// of the step before, until so many are live (fetch_sub_module()). A bucket of a fixed size and
// this device's part of all gradients are there for good.
//
// offload_optimizer: that part is in the host's memory, as are master weights and their gradients.
// What is summed goes there, comes back and goes once more in the type of the masters
// (stage3.py, 0.18, partition_grads()). offload_param: parts of weights are there, and come for
// each gathering; a single rank uses what it copies (NoGatherHandle).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/parallel/unit_observer.h"

namespace plimsoll::parallel {

// A unit for each node that reads a weight by itself, in the graph's order.
std::vector<Unit> readers_of_weights(const Graph& graph);

// Units, by their place, in the order in which a step comes to them: forward, then back,
// `last_back` times through the last one; `again`: each of the blocks, nodes in a row, goes forward
// once more before it goes back.
std::vector<size_t> trace_of(const std::vector<Unit>& units, const std::vector<Unit>& blocks,
                             bool again, int64_t last_back = 1);

class ZeroWeights : public UnitObserver {
 public:
  // As ShardedTraining, of readers_of_weights(); `trace`: of trace_of().
  ZeroWeights(eager::Machine& m, const std::vector<Unit>& units, const Unit& around,
              std::vector<size_t> trace, std::span<const eager::Value> values);

  void begin_backward(bool last) override;
  void gradient_ready(eager::GradNode& leaf) override;
  void end_backward() override;

 protected:
  void before_unit(size_t unit, Pass pass) override;
  void after_unit(size_t unit, Pass pass) override;

 private:
  // Units whose weights are on their way together.
  struct Gathering {
    std::vector<size_t> units{};
    std::vector<uint32_t> arriving{};  // copies from the host, and what gathers
    eager::Value buffer{};             // undefined where a weight's own memory is
  };
  struct Group {
    std::vector<eager::Value> weights{};
    Dim count = 0, bytes = 0;
    bool bound = false;
    std::shared_ptr<Gathering> gathering{};
  };

  void add(const Unit& unit, std::span<const eager::Value> values);
  void begin_gathering(std::vector<size_t> units);
  void end_gathering(Group& group);
  void come_to(size_t unit);
  void gather_ahead();
  bool is_needed_soon(size_t unit) const;
  void unbind(Group& group);
  void copy_whole(Gathering& gathering, const Dim& bytes);
  void send_to_host(const eager::GradNode& leaf);
  const Offload& offload() const { return m_.recipe().parallel.offload; }
  eager::Value window_on_bucket(const Dim& count) const;
  void reduce();

  eager::Machine& m_;
  const ZeroFetch& fetch_;
  std::vector<Group> groups_;  // by unit
  std::vector<size_t> trace_;
  size_t next_ = 0, ahead_ = 0;              // in the trace: what is come to, what is asked for
  Dim live_ = 0;                             // elements that are gathered, or on their way
  eager::Value bucket_, part_;               // of gradients
  eager::Value large_;                       // a gradient that the bucket has no room for
  std::vector<eager::GradNode*> in_bucket_;  // whose gradients the bucket has
  std::vector<uint32_t> leaving_;            // gradients on their way to the host
  Dim filled_ = 0;                           // of the bucket, elements
  bool last_ = false;
};

}  // namespace plimsoll::parallel
