// recover(): finds what a framework ran in what an exporter wrote. Exporters decompose layers into
// ONNX's own operators (a GELU becomes Div, Erf, Add, Mul, Mul) and eager training keeps other
// tensors for the layer than it would for its pieces. Each recognised group becomes one node: an
// operator of ONNX where there is one (Gelu, LayerNormalization), else a composite of domain
// "plimsoll" (Linear, Silu, Rsqrt, Attention, Recurrent, Contiguous).
//
// A group that somebody wrote by hand stays as it is where the file tells the two apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace plimsoll {

struct Recovered {
  std::string_view pattern;  // "GELU", "scaled dot-product attention"
  NodeId node = kNoNode;     // what it became, in the rewritten graph
  size_t nodes = 0;          // how many nodes of the file it stands for
};

// The pattern of weights that an exporter merged, one entry for each that is a module's own again.
inline constexpr std::string_view kMergedWeights = "weight of a module, merged with another's";

struct RecoverReport {
  std::vector<Recovered> found;  // in the graph's order
};

// Folds and rewrites an inferred graph (shapes and known contents must be there) in place; new
// tensors get their shapes, so infer() need not run again. Node ids change, tensor ids do not.
// Never fails: what is not recognised stays. Cost: a few visits per node.
//
//   infer(graph, decider, warnings);
//   const RecoverReport report = recover(graph, &decider);   // not with --no-recover
//
// `decider` says what depends on a symbol: whether all keys are within attention's window. Without
// one they are not.
RecoverReport recover(Graph& graph, Decider* decider = nullptr);

}  // namespace plimsoll
