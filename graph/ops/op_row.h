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

// A set of inputs, for OpRow::weights and its like: slots(1, 2); slots_from(1) is input 1 and all
// behind it.
template <typename... Inputs>
constexpr uint32_t slots(Inputs... inputs) {
  return ((uint32_t{1} << inputs) | ...);
}
constexpr uint32_t slots_from(int input) { return ~uint32_t{0} << input; }

struct OpRow {
  // What consumers ask of an operator in place of its name, one bit each.
  enum Trait : uint32_t {
    kView = 1 << 0,           // its first input's elements in another shape or order
    kInOrder = 1 << 1,        // a view that keeps their order
    kSharesStorage = 1 << 2,  // eager code shows its first input's storage: views, parts, repeats
    kSlices = 1 << 3,         // a part of its first input, at fixed places
    kRepeats = 1 << 4,        // its first input, as often as extents say
    kPicksByIndex = 1 << 5,   // elements of its first input, where its second says
    kConcatenates = 1 << 6,   // its inputs, one behind the other
    kReframes = 1 << 7,       // an image enlarged, cropped or with a margin
    kConversion = 1 << 8,     // to another type
    kPredicate = 1 << 9,      // true or false of each element, without a gradient
    kRandom = 1 << 10,        // draws anew at every step
    kShapeOf = 1 << 11,       // reads extents, no elements
    kAddition = 1 << 12,      // of two: Add and, without kCommutes, its inverse
    kMultiplication =
        1 << 13,           // of two, element by element: Mul and, without kCommutes, its inverse
    kCommutes = 1 << 14,   // two operands in either order
    kSquashing = 1 << 15,  // weights are put through it too: gates, mixes
    kRectifier = 1 << 16,  // an activation between layers: what is large passes, or half of it
    kOfResult = 1 << 23,   // an activation whose gradient its result alone tells
    kOneType = 1 << 24,    // all its operands are of one type, or it does not run
    kNorm = 1 << 17,       // of features: x; gain and shift where they are `weights`
    kDense = 1 << 18,      // x times a matrix; a bias where it is among `weights`
    kConvolutional = 1 << 19,  // x, filters [channels, channels / groups, ...], bias
    kRecurrent = 1 << 20,  // ONNX's layers over time: x, three weights, lengths, states, peepholes
    kOverTime = 1 << 21,   // a recurrent layer, stack or cell of any form
    kQuantised = 1 << 22,  // of whole numbers and their scales
    kOutputsFirst = 1 << 25,  // a dense operator whose matrix has a row for each output
    kAttends = 1 << 26,       // attention, whose kernels a framework chooses among
    kDrops = 1 << 27,         // zeroes elements by chance while training
    kScatters = 1 << 28,      // writes into its first input, where its second says
    kDistance = 1 << 29,      // a loss: how far two values are from each other, zero if equal
    kExtremum = 1 << 30,      // the largest or the smallest along axes
  };

  std::string_view name;
  uint32_t traits = 0;  // of Trait
  // Inputs by what a network holds there, bits of slots(): what is trained where it is a parameter,
  // what the operator itself updates, and what a sequence begins with.
  uint32_t weights = 0, statistics = 0, states = 0;
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

// Whether the operator of a node has all of these traits, or any of them. One hashing of its name.
bool has(const Node& node, uint32_t traits);
bool has_any(const Node& node, uint32_t traits);
// x + y, x - y, x * y and x / y, element by element.
inline bool is_sum(const Node& node) { return has(node, OpRow::kAddition | OpRow::kCommutes); }
inline bool is_difference(const Node& node) { return has(node, OpRow::kAddition) && !is_sum(node); }
inline bool is_product(const Node& node) {
  return has(node, OpRow::kMultiplication | OpRow::kCommutes);
}
inline bool is_quotient(const Node& node) {
  return has(node, OpRow::kMultiplication) && !is_product(node);
}
// Whether an input is among its row's weights; or its statistics, or first states.
bool is_weight_place(const Node& node, size_t input);
bool is_statistic_place(const Node& node, size_t input);
bool is_state_place(const Node& node, size_t input);
// A norm that keeps statistics of its own, in inputs 3 and 4.
inline bool is_batch_norm(const Node& node) {
  return has(node, OpRow::kNorm) && is_statistic_place(node, 3);
}

// The row for an operator, or null. Domains "" and "ai.onnx" are one.
const OpRow* find_op(std::string_view domain, std::string_view name);
// All rows, sorted by domain, then name.
std::span<const OpRow* const> all_ops();

}  // namespace plimsoll
