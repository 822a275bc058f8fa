// ExpertParallel: ranks along Axis::kExpert send tokens to the experts that they chose and get back
// what these made, each time to and fro in the backward pass too
// (megatron/core/transformer/moe/token_dispatcher.py, MoEAlltoAllTokenDispatcher).
//
//   rows by expert -> all-to-all -> rows by rank and expert -> by expert -> experts
//     -> by rank and expert -> all-to-all -> rows by expert
#pragma once

#include "graph/eager/machine.h"
#include "graph/parallel/expert_split.h"

namespace plimsoll::parallel {

class ExpertParallel : public eager::Observer {
 public:
  // Both outlive it. Experts get as many tokens each; with a capacity, so many, whoever wants them.
  ExpertParallel(eager::Machine& m, const ExpertSplit& split) : m_(m), split_(split) {}

  void before_node(NodeId node, std::vector<eager::Value>& inputs) override;
  void after_node(NodeId node, std::vector<eager::Value>& outputs) override;

 private:
  eager::Value permuted(const eager::Value& x, const Dim& rows);
  eager::Value sent(const eager::Value& x);

  eager::Machine& m_;
  const ExpertSplit& split_;
  Dim rows_ = 0;  // of the layer that is running, before they are sent
};

}  // namespace plimsoll::parallel
