// Lowerings: how a node's operator runs on eager Values. Named by the rows of the operator
// families; most rows share a few of these.
#pragma once

#include "graph/eager/ops.h"
#include "graph/ops/op.h"

namespace plimsoll {

namespace eager {

// What a lowering sees: the machine, the node, the values of its inputs, and the types that infer()
// gave its outputs.
class Lowering {
 public:
  Lowering(Machine& machine, const Graph& graph, NodeId id, std::vector<Value> inputs)
      : m(machine), graph_(graph), id_(id), inputs_(std::move(inputs)) {}

  Machine& m;
  const Node& node() const { return graph_.nodes[id_]; }
  const Attributes& attributes() const { return node().attributes; }
  int64_t opset() const { return graph_.opset; }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].defined(); }
  // An absent input is an undefined Value.
  const Value& in(size_t i) const;
  const std::vector<Value>& inputs() const { return inputs_; }
  const Shape& out_shape(size_t i) const { return *graph_.tensors[node().outputs[i]].shape; }
  DType out_dtype(size_t i) const { return graph_.tensors[node().outputs[i]].dtype; }
  bool wants(size_t output) const {
    return output < node().outputs.size() && node().outputs[output] != kNoTensor;
  }
  // Contents of an input as Dims, where known.
  const std::vector<Dim>* dims(size_t i) const;
  const std::vector<double>* reals(size_t i) const;
  // Axes given as an attribute or, in newer opsets, as an input; normalised to the rank; `all`
  // where neither is there.
  std::vector<size_t> axes(size_t input, size_t rank, bool all) const;

 private:
  const Graph& graph_;
  NodeId id_;
  std::vector<Value> inputs_;
};

}  // namespace eager

namespace lower {

using eager::Lowering;
using eager::Value;
using Values = std::vector<Value>;

// pointwise
Values keep_result(Lowering& l);   // sigmoid, tanh, exp, relu
Values keep_input(Lowering& l);    // gelu, silu, log, clip
Values keep_nothing(Lowering& l);  // neg
Values no_gradient(Lowering& l);  // comparisons, rounding, arg max: any output without a derivative
Values add(Lowering& l);
Values sub(Lowering& l);
Values mul(Lowering& l);
Values div(Lowering& l);
Values pow(Lowering& l);
Values keep_both(Lowering& l);  // maximum, minimum, prelu, mod
Values sum(Lowering& l);        // of any number of inputs
Values mean(Lowering& l);
Values where(Lowering& l);
Values cast(Lowering& l);
Values clip(Lowering& l);
Values dropout(Lowering& l);
Values identity(Lowering& l);

// matmul
Values matmul(Lowering& l);
Values gemm(Lowering& l);
Values linear(Lowering& l);
Values einsum(Lowering& l);

// conv, pool, norm
Values conv(Lowering& l);
Values conv_transpose(Lowering& l);
Values max_pool(Lowering& l);
Values average_pool(Lowering& l);
Values global_average_pool(Lowering& l);
Values global_max_pool(Lowering& l);
Values lp_pool(Lowering& l);
Values batch_norm(Lowering& l);
Values layer_norm(Lowering& l);
Values group_norm(Lowering& l);
Values instance_norm(Lowering& l);
Values rms_norm(Lowering& l);
Values lrn(Lowering& l);

// reduce, softmax
Values reduce_sum(Lowering& l);
Values reduce_mean(Lowering& l);
Values reduce_keeping_input(Lowering& l);
Values reduce_keeping_both(Lowering& l);
Values reduce_extremum(Lowering& l);
Values softmax(Lowering& l);
Values log_softmax(Lowering& l);

// movement
Values reshape(Lowering& l);
Values transpose(Lowering& l);
Values expand(Lowering& l);
Values squeeze(Lowering& l);
Values unsqueeze(Lowering& l);
Values slice(Lowering& l);
Values split(Lowering& l);
Values concat(Lowering& l);
Values rearrange(Lowering& l);  // pad, tile, resize, depth-to-space: needs only sizes in backward

// index
Values gather(Lowering& l);
Values gather_elements(Lowering& l);
Values gather_nd(Lowering& l);
Values scatter(Lowering& l);
Values top_k(Lowering& l);
Values grid_sample(Lowering& l);  // keeps both inputs

// recurrent, attention, loss
Values onnx_recurrent(Lowering& l);  // ONNX's LSTM, GRU, RNN: one layer
Values recurrent(Lowering& l);       // the stack that recover() or a config makes
Values attention(Lowering& l);
Values softmax_cross_entropy(Lowering& l);

// Outputs made from shapes, constants or randomness: allocated, no gradient.
Values create(Lowering& l);

}  // namespace lower
}  // namespace plimsoll
