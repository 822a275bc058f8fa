// Initializers and constants as tensors of a Graph.
#pragma once

#include <string>

#include "graph/base/limits.h"
#include "graph/onnx/model.h"
#include "graph/ops/op_row.h"

namespace plimsoll::onnx {

// What was odd about many tensors, told once for each kind.
class ParameterNotes {
 public:
  void look_at(const TensorSpec& spec);
  void tell(Diagnostics& warnings) const;

 private:
  struct Tally {
    int64_t count = 0;
    std::string first;
    void add(const std::string& name);
  };
  Tally lacking_, strings_, odd_locations_, odd_entries_;
};

// A kParameter tensor. E231 a negative extent, E232 too many elements for 64 bits, E234 an element
// type nobody knows, E809 and E810 limits.
Result<Tensor> parameter(const TensorSpec& spec, const Limits& limits);

// A constant made here: an iteration number, a condition.
Tensor integer_constant(std::string name, DType dtype, Shape shape, std::vector<int64_t> values);

// The attributes of a Constant node as the tensor they mean, except `sparse_value` and strings: the
// spec's own tensor, or one built from value_int(s) and value_float(s). Null where there is none.
std::unique_ptr<TensorSpec> constant_value(const NodeSpec& node);

// Tensors among a node's attributes as numbers and an element type: ConstantOfShape's `value` and
// its like (see graph/ir/attributes.h). `row`: whose attributes alone are taken; null: all.
void flatten_tensors(const NodeExtras& extras, const OpRow* row, Attributes& attributes);

}  // namespace plimsoll::onnx
