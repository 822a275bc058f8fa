// TensorParallel: what ranks along Axis::kTensor tell each other around the operators of which each
// has a part. Sums are made in place; with parts along the sequence what operators read is gathered
// and what they sum is scattered.
#pragma once

#include "graph/eager/machine.h"
#include "graph/parallel/tensor_split.h"

namespace plimsoll::parallel {

class TensorParallel : public eager::Observer {
 public:
  // `graph` has the shapes of parts (with_parts()). All outlive it.
  TensorParallel(eager::Machine& m, const Graph& graph, const TensorSplit& split)
      : m_(m), graph_(graph), split_(split) {}

  void before_node(NodeId node, std::vector<eager::Value>& inputs) override;
  void after_node(NodeId node, std::vector<eager::Value>& outputs) override;

 private:
  eager::Value copied(const eager::Value& x, TensorId id);
  eager::Value gathered(const eager::Value& part);
  eager::Value scattered(const eager::Value& whole);

  eager::Machine& m_;
  const Graph& graph_;
  const TensorSplit& split_;
  TensorId read_ = kNoTensor;  // of all ranks, by the nodes that read it one after the other
  eager::Value whole_;
};

}  // namespace plimsoll::parallel
