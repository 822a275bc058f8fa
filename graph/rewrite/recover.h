// recover(): finds what a framework ran in what an exporter wrote. Exporters decompose layers into
// ONNX's own operators (a GELU becomes Div, Erf, Add, Mul, Mul) and eager training keeps other
// tensors for the layer than it would for its pieces. Each recognised group becomes one node: an
// operator of ONNX where there is one (Gelu, LayerNormalization), else a composite of domain
// "plimsoll" (Linear, Silu, Rsqrt, Attention, Recurrent, Contiguous).
//
// A group that somebody wrote by hand stays as it is where the file tells the two apart; attention
// does not where `joins_attention`, as a library has it that writes it out for exporters alone.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/rewrite/recovered.h"

namespace plimsoll {

struct RecoverReport {
  std::vector<Recovered> found;    // in the graph's order
  size_t attention_in_pieces = 0;  // written by hand, and left so
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
RecoverReport recover(Graph& graph, Decider* decider = nullptr, bool joins_attention = false);

}  // namespace plimsoll
