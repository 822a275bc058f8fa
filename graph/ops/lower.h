// What a lowering sees.
#pragma once

#include "graph/eager/ops.h"
#include "graph/ops/lowerings.h"

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
  // Of an output that is not wanted: a number of no type.
  const Shape& out_shape(size_t i) const;
  DType out_dtype(size_t i) const;
  // Named, and one that the operator has.
  bool wants(size_t output) const {
    const auto& outputs = node().outputs;
    return output < outputs.size() && outputs[output] != kNoTensor &&
           graph_.tensors[outputs[output]].shape;
  }
  // The form in which an input is stored, where it is a quantized weight.
  const QuantizationRow* quantized(size_t i) const {
    const TensorId id = i < node().inputs.size() ? node().inputs[i] : kNoTensor;
    return id == kNoTensor ? nullptr : graph_.tensors[id].quantized;
  }
  bool is_parameter(size_t i) const {
    return graph_.tensors[node().inputs[i]].kind == TensorKind::kParameter;
  }
  // Contents of an input as Dims, where known.
  const std::vector<Dim>* dims(size_t i) const;
  const std::vector<double>* reals(size_t i) const;
  // Attribute `axis` of input 0, counted from the front; `otherwise` where absent. (Shape rules
  // have refused one outside.)
  size_t axis(int64_t otherwise) const;
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

using eager::Value;

}  // namespace lower
}  // namespace plimsoll
