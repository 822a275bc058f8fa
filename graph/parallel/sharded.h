// ShardedTraining: devices along Axis::kShard keep a part each of optimizer states, of gradients
// too, of weights too (ZeRO; PyTorch's FSDP): a unit's weights are gathered before it runs and let
// go of behind it, its gradients are summed and scattered when they are whole. Along Axis::kData
// parts are replicated (HSDP).
//
// What is allocated when is FSDP2's (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py and
// _fsdp_collectives.py, 2.9): a unit is gathered in a buffer of the gathering stream, and what
// operators read is copied out of it; forward, that buffer stays until the next unit's is there;
// backward, the next unit is gathered ahead; the weights that no unit has for itself stay from
// forward on. Where weights are whole they are gathered in place behind the update. In a forward
// pass the host runs ahead of its device: a unit's gathering begins with the unit before
// (FSDPParamGroup.wait_for_unshard(), implicit prefetching).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/parallel/unit_observer.h"

namespace plimsoll::parallel {

class ShardedTraining : public UnitObserver {
 public:
  // Of find_weights(); `values`: of the graph's tensors, where those that the recipe's plan shards
  // are Machine::unbound() or a trained one's leaf says what is updated.
  ShardedTraining(eager::Machine& m, const std::vector<Unit>& units, const Unit& around,
                  std::span<const eager::Value> values);

  void begin_backward(bool last) override;
  void end_backward() override;
  void after_update() override;

 protected:
  void before_unit(size_t unit, Pass pass) override;
  void after_unit(size_t unit, Pass pass) override;

 private:
  struct Weight {
    eager::Value whole;
    eager::GradNodeRef leaf{};  // null where it is not trained
    eager::Value gradient{};    // this device's part, summed
  };
  struct Group {
    std::vector<Weight> weights{};
    Dim bytes = 0;  // of all devices' parts, as they are gathered
    Dim cast = 0;   // of this device's part, where it is cast to be gathered
    bool bound = false;
    std::optional<uint32_t> gathering{};  // has begun
    eager::Value buffer{};                // ... to it
  };

  void add(const Unit& unit, std::span<const eager::Value> values);
  // This device's part of a weight, and of its gradient.
  TensorType part(const eager::Value& whole) const;
  // As they are gathered: of the first device, whose part all are padded to, and of all.
  Dim bytes_of_first(const eager::Value& whole) const;
  Dim bytes_of_parts(const eager::Value& whole) const;
  void begin_gathering(Group& group);
  void gather(Group& group);
  void copy_out(Group& group);
  void unbind(Group& group);
  void scatter_gradients(Group& group);
  void keep_whole_gradients(Group& group);
  eager::Value scattered(eager::Value input);
  void end_scatter();

  eager::Machine& m_;
  const ParallelPlan& plan_;
  std::vector<Group> groups_;  // by unit
  eager::Value last_buffer_;   // of the unit before, in a forward pass
  std::optional<uint32_t> scattering_;
  eager::Value scattered_;         // ... which replicas have to sum
  std::vector<uint32_t> summing_;  // over replicas
  bool last_ = false;              // of the step's backward passes
};

}  // namespace plimsoll::parallel
