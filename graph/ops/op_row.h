// OpRow: everything an operator means, in one row of its family's table.
//
// Before a shape rule runs, infer() has checked that the required inputs are there with known
// shapes (E253) and that attributes with a name ONNX knows have ONNX's type (E247), so that a rule
// may read `attributes().integer("axis", -1)` without looking back.
//
// Codes of shape rules: E241 window larger than its input, E242 stride, E243 dilation, E244
// padding, E245 group, E246 extents that do not fit together, E247 an attribute's type, presence or
// value, E248 axis, E250 Reshape, E251 broadcast, E253 inputs or rank, E254 a shape that depends on
// contents not known; W211 an upper bound in place of an extent that depends on data.
//
// To add an operator: write a shape rule and a lowering (or name shared ones) and add one row to
// one family file. Nothing else switches over operators.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll {

namespace eager {
class Lowering;
class Value;
}  // namespace eager

// What a shape rule sees: the node, its inputs' types and known contents; and where it puts its
// outputs' types. Errors name the node by themselves.
class InferContext {
 public:
  InferContext(Graph& graph, NodeId node, Decider& decider, Diagnostics& warnings)
      : graph_(graph), node_(node), decider_(decider), warnings_(warnings) {}

  const Node& node() const { return graph_.nodes[node_]; }
  const Attributes& attributes() const { return node().attributes; }
  NodeNotes& notes() { return graph_.nodes[node_].notes; }
  int64_t opset() const { return graph_.opset; }
  Graph& graph() { return graph_; }
  Decider& decider() { return decider_; }

  size_t inputs() const { return node().inputs.size(); }
  size_t outputs() const { return node().outputs.size(); }
  // False where an optional input is omitted or the node has fewer inputs.
  bool has(size_t input) const { return input < inputs() && node().inputs[input] != kNoTensor; }
  // The tensor of a present input. Its shape is known when a rule runs (infer() refuses before).
  const Tensor& tensor(size_t input) const { return graph_.tensors[node().inputs[input]]; }
  DType dtype(size_t input) const { return tensor(input).dtype; }
  const Shape& shape(size_t input) const { return *tensor(input).shape; }
  size_t rank(size_t input) const { return shape(input).size(); }

  // Contents of an integer input as Dims, one per element, where known; else null.
  const std::vector<Dim>* dims(size_t input) const;
  // The same where all are constants.
  std::optional<std::vector<int64_t>> integers(size_t input) const;
  // Contents of a float input, where small and known.
  const std::vector<double>* reals(size_t input) const;

  void set(size_t output, DType dtype, Shape shape);
  // Contents of an output that carries shapes, after its shape is set. Ignored where their number
  // is not the output's. `divisors`: see Tensor.
  void set_dims(size_t output, std::vector<Dim> dims, std::vector<Dim> divisors = {});
  // Contents of a small known float output.
  void set_reals(size_t output, std::vector<double> reals);

  // An error at this node; also a warning that does not stop.
  tl::unexpected<Diagnostics> fail(std::string code, std::string message, std::string help = {});
  void warn(std::string code, std::string message);

  // E247 where the attribute is absent or of another type.
  Result<int64_t> required_integer(std::string_view name);
  // E248 where `axis` is outside the rank.
  Result<size_t> axis(int64_t axis, size_t rank);
  // The axes that attribute `name` lists are `axes` from now on, counted from the front: passes and
  // lowerings compare and index with them as they stand.
  void set_plain(std::string_view name, const std::vector<size_t>& axes);

 private:
  Graph& graph_;
  NodeId node_;
  Decider& decider_;
  Diagnostics& warnings_;
};

using ShapeRule = Result<void> (*)(InferContext&);
// Re-enacts the operator on values: allocates, launches kernels, records what autograd keeps.
// Returns one Value per output of the node (an undefined Value for outputs nobody can use).
using Lower = std::vector<eager::Value> (*)(eager::Lowering&);

// OpRow::inputs of an operator on a list: every input that a node names must be there, one at
// least.
inline constexpr size_t kEveryInput = ~size_t{0};

struct OpRow {
  // What consumers ask of an operator in place of its name, one bit each.
  enum Trait : uint32_t {
    kView = 1,        // its first input's elements in another shape or order
    kComparison = 2,  // of two values, without a gradient
    kRandom = 4,      // draws anew at every step
    kShapeOf = 8,     // reads extents, no elements
    kRecurrent = 16,  // ONNX's layers over time: x, three weights, lengths, first states, peepholes
    kNorm = 32,       // x, gain, shift: a layer's, with weights
    kSquashing = 64,  // weights are put through it too: gates, mixes
    kCommutes = 128,  // two operands in either order
  };

  std::string_view name;
  uint32_t traits = 0;           // of Trait
  std::string_view domain = "";  // "" is ONNX's own; "plimsoll" the composites of recover()
  int since = 1;                 // first opset that has it
  size_t inputs = 1;             // how many inputs must be present
  // The names of its attributes, in all operator sets, with spaces between them: no other reaches a
  // node. (Source: onnx.defs; ContribOperators.md of ONNX Runtime for com.microsoft.)
  std::string_view attributes = "";
  ShapeRule shape = nullptr;
  Lower lower = nullptr;
  // Inputs from this one on are numbers for the host (shapes, axes, ratios), not data.
  size_t host_from = 64;
  // "f32[B,4] f32[4,16] -> f32[B,16] | flop 128*B | keeps in0 in1", computed by hand; attributes in
  // braces after the inputs: "f32[B,8,16,16] f32[4,8,3,3] {pads=[1,1,1,1]} -> f32[B,4,16,16]".
  std::string_view example = "";
};

// Whether the operator has an attribute of this name.
bool has_attribute(const OpRow& row, std::string_view name);

// Whether the operator of a node has a trait. One hashing of its name.
bool has(const Node& node, OpRow::Trait trait);

// The row for an operator, or null. Domains "" and "ai.onnx" are one.
const OpRow* find_op(std::string_view domain, std::string_view name);
// All rows, sorted by domain, then name.
std::span<const OpRow* const> all_ops();

}  // namespace plimsoll
