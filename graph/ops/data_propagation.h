// Following the contents of small tensors that carry shapes: whole numbers as Dims, reals (scales
// computed from shapes) as quotients of Dims. What cannot be followed exactly is not followed.
#pragma once

#include <functional>

#include "graph/ops/op_row.h"

namespace plimsoll::ops {

// over / under; under is at least 1, and 1 for whole numbers.
struct Fraction {
  Dim over;
  Dim under = 1;
};
using Fractions = std::vector<Fraction>;

// The simplest fraction that a real of 32 bits may stand for: 0.7f is 7/10, so that rounding down a
// product gives what float arithmetic gives; else its exact value where that is small.
std::optional<Fraction> as_fraction(double value);

inline constexpr size_t kMostFollowed = 1024;  // elements; shape arithmetic needs a dozen

// The contents of an input, one per element, where known and few.
std::optional<Fractions> known(InferContext& c, size_t input);
// Sets the contents of an output whose shape is set. Fractions of whole-number outputs must be
// whole.
void set_known(InferContext& c, size_t output, Fractions values);
// The extents of a tensor of at most kMostFollowed elements, if all are constant.
std::optional<std::vector<size_t>> small_shape(const Shape& shape);

// Exact arithmetic. `whole`: the operands are integers, so that a quotient is truncated.
using Fold = std::optional<Fraction> (*)(InferContext& c, const Fraction& a, const Fraction& b,
                                         bool whole);
std::optional<Fraction> fold_add(InferContext& c, const Fraction& a, const Fraction& b, bool whole);
std::optional<Fraction> fold_sub(InferContext& c, const Fraction& a, const Fraction& b, bool whole);
std::optional<Fraction> fold_mul(InferContext& c, const Fraction& a, const Fraction& b, bool whole);
std::optional<Fraction> fold_div(InferContext& c, const Fraction& a, const Fraction& b, bool whole);
std::optional<Fraction> fold_mod(InferContext& c, const Fraction& a, const Fraction& b, bool whole);
std::optional<Fraction> fold_max(InferContext& c, const Fraction& a, const Fraction& b, bool whole);
std::optional<Fraction> fold_min(InferContext& c, const Fraction& a, const Fraction& b, bool whole);
std::optional<Fraction> fold_equal(InferContext& c, const Fraction& a, const Fraction& b, bool);
std::optional<Fraction> fold_less(InferContext& c, const Fraction& a, const Fraction& b, bool);
std::optional<Fraction> fold_less_or_equal(InferContext& c, const Fraction& a, const Fraction& b,
                                           bool);
std::optional<Fraction> fold_floor(InferContext& c, const Fraction& a);
std::optional<Fraction> fold_ceil(InferContext& c, const Fraction& a);

// Where all inputs are known: output 0 element by element, with broadcasting, `fold` applied from
// the left. The output's shape must be set.
void follow_elementwise(InferContext& c, Fold fold);
void follow_unary(InferContext& c, std::optional<Fraction> (*fold)(InferContext&, const Fraction&));
// Output `output` is made of elements of input `input`: `source` gives, for the index of an output
// element, the flat index of the input's.
using Index = std::vector<size_t>;
void follow_moved(InferContext& c, size_t output, size_t input,
                  const std::function<size_t(const Index&)>& source);
// The flat index of an element in a tensor.
size_t flat_index(const Index& index, const std::vector<size_t>& shape);
// Output 0 has the elements of input 0 in their order.
void follow_same(InferContext& c);

}  // namespace plimsoll::ops
