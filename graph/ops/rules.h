// What the shape rules of several families share.
#pragma once

#include <span>

#include "graph/ops/op_row.h"

namespace plimsoll::ops {

// E247 where an attribute whose name ONNX knows has another type than ONNX gives it, or a list is
// longer than any rank.
Result<void> check_attribute_types(InferContext& c);
// Operators of ONNX on sequences, optionals, maps and strings: refused by their own message.
bool works_on_sequences(std::string_view op);

// E253 where the rank of an input is not in [least, most].
inline constexpr size_t kAnyRank = 64;
Result<void> require_rank(InferContext& c, size_t input, size_t least, size_t most = kAnyRank);
// E246 where two extents that must be one are known to differ, and did in the file. `what` names
// them.
Result<void> require_equal(InferContext& c, const Dim& a, const Dim& b, std::string_view what);
// Axes counted from the end made plain, each at most once. E248.
Result<std::vector<size_t>> normalized_axes(InferContext& c, std::span<const int64_t> axes,
                                            size_t rank);
// The axes an operator takes as input `input` since some opset, as attribute `axes` before it;
// nothing where neither is given. E254 where the input's contents are not known.
Result<std::optional<std::vector<int64_t>>> axes_argument(InferContext& c, size_t input);
// The data type in a whole-number attribute, or `otherwise` where absent. E247.
Result<DType> dtype_attribute(InferContext& c, std::string_view name, DType otherwise);
// One number, whole or real, in an attribute.
std::optional<double> number_attribute(const Attributes& attributes, std::string_view name);
// E254 for contents that a shape depends on, with the way out.
tl::unexpected<Diagnostics> unknown_contents(InferContext& c, size_t input, std::string_view what);

// The broadcast of all present inputs from `first` on. E251. Where a batch baked into the file
// meets the symbol it became, the symbol wins.
Result<Shape> broadcast_inputs(InferContext& c, size_t first = 0);
Result<Shape> broadcast_two(InferContext& c, const Shape& a, const Shape& b);

// Rules as they are: output 0 (and every further output) like input 0.
Result<void> like_first(InferContext& c);
// Output 0 is the broadcast of all inputs, typed as input 0.
Result<void> broadcast_rule(InferContext& c);
// The same, of type bool.
Result<void> compare_rule(InferContext& c);

// The order in which FusedMatMul reads an operand's dimensions: where attribute `batch` is set the
// first one moves behind those of the batch, where `last` is set the last two change places.
// (Source: onnxruntime/core/graph/contrib_ops/contrib_defs.cc, FusedMatMulShapeInference.)
std::vector<size_t> product_axes(size_t rank, const Attributes& attributes, std::string_view last,
                                 std::string_view batch);

}  // namespace plimsoll::ops
