// ShardedTraining: devices along Axis::kShard keep a part each of optimizer states, of gradients
// too, of weights too (ZeRO; PyTorch's FSDP): a unit's weights are gathered before it runs and let
// go of behind it, its gradients are summed and scattered when they are whole. Along Axis::kData
// parts are replicated (HSDP). Experts that ranks share are a second group of their unit, among the
// ranks that have the same ones (graph/parallel/holders.h).
//
// What is allocated when is FSDP2's (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py and
// _fsdp_collectives.py, 2.9, with groups of a unit as 2.15 has them): a unit is gathered in a
// buffer of the gathering stream, and what operators read is copied out of it; forward, that buffer
// stays until the next unit's is there; backward, the next unit is gathered ahead; the weights that
// no unit has for itself stay from forward on. Where weights are whole they are gathered in place
// behind the update. In a forward pass the host runs ahead of its device: a unit's gathering begins
// with the unit before (FSDPParamGroup.wait_for_unshard(), implicit prefetching); where experts are
// shared it is asked for then, as torchtitan has it (torchtitan/distributed/fsdp.py,
// set_modules_to_forward_prefetch()), and has memory from then on.
//
// CPUOffloadPolicy: parts are in the host's memory, from where each weight comes to the gathering
// stream by itself before a unit is gathered; what is summed goes there as soon as it is scattered
// (_fsdp_param.py, all_gather_inputs; foreach_reduce()). A single rank copies weights where it
// uses them.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "graph/parallel/holders.h"
#include "graph/parallel/unit_observer.h"

namespace plimsoll::parallel {

class ShardedTraining : public UnitObserver {
 public:
  // Of find_weights(); `values`: of the graph's tensors, where those that the recipe's plan shards
  // are Machine::unbound() or a trained one's leaf says what is updated; `computed`: of which a
  // rank computes a part.
  ShardedTraining(eager::Machine& m, const std::vector<Unit>& units, const Unit& around,
                  std::span<const eager::Value> values,
                  const std::map<TensorId, Placement>& computed);

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
    Holders holders;
    std::vector<Weight> weights{};
    Dim bytes = 0;  // of all devices' parts, as they are gathered
    Dim cast = 0;   // of this device's part, where it is cast to be gathered
    bool bound = false;
    std::vector<uint32_t> gathering{};  // has begun, and is not awaited
    eager::Value buffer{};              // ... to it
  };

  void add(const Unit& unit, std::span<const eager::Value> values,
           const std::map<TensorId, Placement>& computed, bool of_experts);
  std::span<Group> groups_of(size_t unit);
  // This device's part of a weight, and of its gradient.
  TensorType part(const Group& group, const eager::Value& whole) const;
  // As they are gathered: of the first device, whose part all are padded to, and of all.
  Dim bytes_of_first(const Group& group, const eager::Value& whole) const;
  Dim bytes_of_parts(const Group& group, const eager::Value& whole) const;
  void begin_gathering(Group& group);
  void gather(Group& group);
  void gather_ahead(size_t unit);
  void end_gathering(Group& group);
  void copy_out(Group& group);
  void copy_directly(Group& group);
  bool is_offloaded() const { return plan_.offload.parameters; }
  // This device's part of a weight as it is gathered, from the host or in another type.
  eager::Value brought(const Group& group, const eager::Value& whole, Stream stream);
  Dim bytes_of_kept(const Group& group) const;
  bool is_cut_inside(const Group& group, const eager::Value& whole) const;
  eager::Value by_rank(const eager::Value& gradient);
  void unbind(Group& group);
  bool scatter_gradients(Group& group, bool waited);
  void add_part(const Group& group, Weight& weight, const eager::Value& sum);
  void add_on_host(Weight& weight, const TensorType& mine);
  void keep_whole_gradients(Group& group);
  eager::Value scattered(const Group& group, eager::Value input);
  void end_scatter();

  eager::Machine& m_;
  const ParallelPlan& plan_;
  std::vector<Group> groups_;            // by unit, of each what all ranks share and its experts
  eager::Value last_buffer_;             // of the group before, in a forward pass
  std::vector<uint32_t> scattering_;     // of the unit before, in a backward pass
  std::vector<eager::Value> sent_;       // ... what is scattered
  std::vector<eager::Value> scattered_;  // ... what replicas have to sum of it
  std::vector<uint32_t> summing_;        // over replicas
  std::vector<uint32_t> leaving_;        // gradients on their way to the host
  bool last_ = false;                    // of the step's backward passes
};

}  // namespace plimsoll::parallel
