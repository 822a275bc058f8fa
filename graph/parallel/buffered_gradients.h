// BufferedGradients: gradients of all backward passes of a step are added to one buffer in 32 bits,
// which stays between steps; the update reads it. Ranks sum it after the last pass, or scatter its
// sum where each of them has states of a part alone.
//
// Where they are added as soon as they are ready, products of weights alone add to the buffer
// themselves, on their way out of the multiprocessors (gradient_accumulation_fusion, on by default
// in megatron/training/arguments.py; tensor_parallel/layers.py,
// LinearWithGradAccumulationAndAsyncCommunication; Transformer Engine's fuse_wgrad_accumulation).
// What else readers of a weight make, as of a table of tokens, is added by a kernel. The gradient
// in 16 bits is there for a moment all the same.
//
// Where those in 16 bits stay until the next backward pass, the forward passes before it have them
// too, and each is added by way of a copy in 32 bits (DeepSpeed, runtime/bf16_optimizer.py:
// update_hp_grads()).
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "graph/eager/machine.h"
#include "graph/ir/graph.h"

namespace plimsoll::parallel {

class BufferedGradients : public eager::Observer {
 public:
  // Of the machine's leaves; it outlives this. `values`: of the graph's tensors.
  BufferedGradients(eager::Machine& m, const Graph& graph, std::span<const eager::Value> values);

  void begin_backward(bool last) override;
  void gradient_ready(eager::GradNode& leaf) override;
  void end_backward() override;
  void after_update() override;

 private:
  void add(eager::GradNode& leaf);
  void exchange();
  void sum(const Dim& bytes, const std::optional<Placement>& part);
  void gather(const Dim& bytes, bool joined);
  bool scatters() const;
  bool until_next() const;
  eager::Value widened(const eager::Value& gradient);

  eager::Machine& m_;
  eager::Value buffer_;
  std::set<const eager::GradNode*> of_products_;  // leaves that only products read
  std::vector<eager::Value> added_;               // in 16 bits, which stay
  std::optional<size_t> first_;                   // event at which a step's first pass lets go
  bool last_ = false;
};

}  // namespace plimsoll::parallel
