// TensorSplit: which operators of a network each rank along Axis::kTensor has a part of, as
// Megatron-LM parts them (Shoeybi et al., arXiv:1909.08053): in each block dense layers that read
// what all ranks have make a part of their outputs, which stays a part through heads, activations
// and gates, up to the dense layers that sum over it. The table of tokens and the head are parted
// by words. Of an adapter the matrix is parted that its layer's part ends in: where ranks have some
// of a layer's outputs the last one, where they have some of its inputs the first one, whose few
// columns are summed; the other one is whole on all ranks (peft 0.21, tuners/lora/model.py,
// _create_and_replace()).
#pragma once

#include <map>
#include <set>

#include "graph/ir/graph.h"
#include "graph/ir/parallel_plan.h"

namespace plimsoll::parallel {

struct TensorSplit {
  std::map<TensorId, Placement> weights;
  std::map<TensorId, size_t> values;  // the dimension of which a rank has its part
  std::set<NodeId> begins;            // read what all ranks have, and make a part
  std::map<TensorId, NodeId> copied;  // what they read, with the last of them
  std::set<NodeId> ends;              // what they make is a sum over ranks
  std::set<NodeId> gathered;          // parts that they make are gathered at once
  std::set<NodeId> scattered;         // of what they make alike each rank takes its part
  std::set<NodeId> cut;               // of what they read alike
  std::set<NodeId> alike{};           // of the unit: attention between what is gathered and cut
  std::set<NodeId> counting;          // operators that count heads or channels of their own
  size_t blocks = 0;                  // that are parted
  size_t whole_attention = 0;         // operators in blocks whose heads are not parted
  NodeId first_whole = kNoNode;       // the first of them
  size_t gathered_attention = 0;      // ... whose layers are, and each rank attends with all heads
  size_t experts = 0;                 // layers of experts
  size_t whole_experts = 0;           // those that are not parted
};

// By what flows through each block alone: a layer that the ranks do not divide stays whole. With
// `sequence` what all ranks would have alike between the parts, norms and sums, is parted along the
// sequence, the dimension before the last (Korthikanti et al., arXiv:2205.05198); so is what is
// `received` of another stage.
// Cost: linear in the graph, for each layer once through its block.
TensorSplit split_tensors(const Graph& graph, int64_t ranks, bool sequence,
                          const std::vector<TensorId>& received = {});

}  // namespace plimsoll::parallel
