// FlatTraining: a unit's weights are one array of which each device along Axis::kShard keeps a
// part, as PyTorch's FullyShardedDataParallel has it (torch/distributed/fsdp/_runtime_utils.py,
// _flat_param.py, 2.15, use_orig_params=True). Along Axis::kData parts are replicated. Experts that
// ranks share are an array of their own among those that have the same ones, as llm-foundry wraps
// them (llmfoundry/models/layers/ffn.py, set_ffn_device_mesh()).
//
// A unit is gathered to an array of the gathering stream, which operators read; backward, the unit
// before is gathered too before a unit's gradients are made (BACKWARD_PRE). Gradients of its
// weights are joined to one array, cast, summed and scattered. Arrays that two streams use are free
// when the device has come by: a unit later, as the host runs ahead (record_stream). The device's
// part of gradients stays until the next forward pass, whoever sets gradients to none.
//
// CPUOffload(offload_params=True): parts and their gradients are in pinned memory of the host. A
// part comes to the gathering stream as it is kept before it is cast and gathered
// (_flat_param.py, pre_unshard()); what is summed goes to the host as it is made, and leaves the
// device behind the backward pass (prepare_gradient_for_optim()). A single rank uses what it
// copies (NO_SHARD).
//
// Of a unit without trained weights in its array a hook on what the unit reads tells when its array
// may go (_register_post_backward_reshard_only_hook()). The hook holds these tensors until the
// backward pass is over (torch/autograd/graph.py, register_multi_grad_hook(): its closure has their
// AccumulateGrad nodes). Where a reentrant checkpoint made them they are leaves, so that their
// gradients stay with them (torch/utils/checkpoint.py, detach_variable()).
#pragma once

#include <array>
#include <map>
#include <span>
#include <vector>

#include "graph/parallel/holders.h"
#include "graph/parallel/unit_observer.h"

namespace plimsoll::parallel {

class FlatTraining : public UnitObserver {
 public:
  // As ShardedTraining; the parts that are kept are made here.
  FlatTraining(eager::Machine& m, const std::vector<Unit>& units, const Unit& around,
               std::span<const eager::Value> values, const std::map<TensorId, Placement>& computed);

  void begin_backward(bool last) override;
  void end_backward() override;
  void before_backward_with(const eager::GradNode& node,
                            std::span<const eager::Value> gradients) override;

 protected:
  void before_unit(size_t unit, Pass pass) override;
  void after_unit(size_t unit, Pass pass) override;
  void before_node_again(size_t unit, std::span<const eager::Value> inputs) override;

 private:
  struct Group {
    Holders holders;
    std::vector<eager::Value> weights{};
    DType dtype = DType::kFloat32;  // as operators read it
    DType kept = DType::kFloat32;   // of the part
    DType sent = DType::kFloat32;   // of gradients that are summed
    Dim whole = 0, part = 0;        // of all devices' parts, and of one
    bool trained = false;           // some of it
    bool bound = false;
    std::vector<uint32_t> gathering{};  // has begun, and is not awaited
    eager::Value brought{};             // this device's part of the host's array
    eager::Value joined{};              // whole gradients that wait for the last pass
    eager::Value gradient{};            // this device's part, summed
  };

  // Of a unit's weights those that are an array: all, or, where adapters or experts are apart,
  // these or the rest.
  void add(const Unit& unit, std::span<const eager::Value> values,
           const std::map<TensorId, Placement>& computed, bool apart);
  std::array<Group*, 2> groups_of(size_t unit) {
    return {&groups_[unit], &groups_[unit + groups_.size() / 2]};
  }
  void begin_gathering(Group& group);
  void gather(Group& group);
  bool is_offloaded() const { return plan_.offload.parameters; }
  bool holds_brought(const Group& group) const;
  void bring_again(Group& group);
  void end_gathering(Group& group);
  void unbind(Group& group);
  eager::Value joined_gradients(Group& group);
  eager::Value summed(const Group& group, eager::Value whole);
  void reduce(Group& group);
  void end_reduction();
  void give_gradients(Group& group);

  eager::Machine& m_;
  const ParallelPlan& plan_;
  std::vector<Group> groups_;  // by unit, then by unit what is apart
  std::vector<uint32_t> reducing_;
  Dim reduced_ = 0;                // bytes of it that replicas have to sum
  std::vector<uint32_t> summing_;  // over replicas
  std::vector<uint32_t> leaving_;  // gradients on their way to the host
  // What a frozen unit read, which that node made, and its gradients.
  struct Hooked {
    const eager::GradNode* made_by = nullptr;
    std::vector<eager::Value> tensors{};
  };
  std::vector<Hooked> hooked_;
  bool last_ = false;  // of the step's backward passes
};

}  // namespace plimsoll::parallel
