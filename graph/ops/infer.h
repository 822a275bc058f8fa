// infer(): gives every tensor of a graph its type and shape, in topological order, following
// integer tensors that carry shapes as Dims, so that Shape -> Gather -> Concat -> Reshape stays
// symbolic.
#pragma once

#include "graph/base/limits.h"
#include "graph/ir/graph.h"

namespace plimsoll {

struct InferOptions {
  Limits limits{};  // of extents and elements
  // What every extent must come to: an ONNX file may cut tensors to nothing, a config's layers
  // none.
  int64_t least_extent = 0;
  // Operators priced by assumption: name -> "ELEMENTWISE" or "FREE" as asked.
  std::map<std::string, std::string, std::less<>> assume{};
  // Contents of tensors that are computed from data, but that shapes depend on (--contents).
  std::map<std::string, std::vector<int64_t>, std::less<>> contents{};
};

// Fills shapes, dtypes and known contents. `decider` holds the values at which undecidable
// comparisons are decided, and collects the guards. E210 for an operator nobody knows (W210 where
// it is assumed), E112 for contents of a tensor that is not there, that nothing reads, that are
// known, or of another number than it has elements, E2xx of the shape rules, naming the node; E231
// for an extent below the least and E232 for one, or for elements, beyond the limits, at those
// values: that it is not so is a guard, so whoever evaluates elsewhere comes back here. Cost:
// linear in the nodes.
Result<void> infer(Graph& graph, Decider& decider, Diagnostics& warnings,
                   const InferOptions& options = {});

// The same for one node whose inputs are inferred: for whoever builds a graph node by node.
Result<void> infer_node(Graph& graph, NodeId node, Decider& decider, Diagnostics& warnings,
                        const InferOptions& options = {});

}  // namespace plimsoll
