// Logic, comparison and operators on bits: true or false, or whole numbers, without a gradient.
#include "graph/ops/data_propagation.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

template <Fold fold>
Result<void> comparison(InferContext& c) {
  if (auto done = compare_rule(c); !done) return done;
  if (c.inputs() == 2) follow_elementwise(c, fold);
  return {};
}

std::optional<Fraction> fold_greater(InferContext& c, const Fraction& a, const Fraction& b,
                                     bool whole) {
  return fold_less(c, b, a, whole);
}
std::optional<Fraction> fold_greater_or_equal(InferContext& c, const Fraction& a, const Fraction& b,
                                              bool whole) {
  return fold_less_or_equal(c, b, a, whole);
}

// Of two truths.
std::optional<Fraction> differ(InferContext& c, const Fraction& a, const Fraction& b, bool) {
  return Fraction{c.decider().equal(a.over, b.over) ? 0 : 1, 1};
}

Result<void> unary_bool(InferContext& c) {
  c.set(0, DType::kBool, c.shape(0));
  return {};
}

std::optional<Fraction> logical_not(InferContext& c, const Fraction& a) {
  return Fraction{c.decider().equal(a.over, 0) ? 1 : 0, 1};
}

Result<void> negation(InferContext& c) {
  c.set(0, c.dtype(0), c.shape(0));
  follow_unary(c, logical_not);
  return {};
}

constexpr OpRow kLogicRows[] = {
    {.name = "And",
     .traits = OpRow::kPredicate,
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = comparison<fold_min>,
     .lower = lower::no_gradient,
     .example = "bool[B,4] bool[4] -> bool[B,4] | flop 4*B"},
    {.name = "BitShift",
     .since = 11,
     .inputs = 2,
     .attributes = "direction",
     .shape = broadcast_rule,
     .lower = lower::no_gradient,
     .example = "u8[B,4] u8[4] {direction=\"LEFT\"} -> u8[B,4] | flop 4*B"},
    {.name = "BitwiseAnd",
     .since = 18,
     .inputs = 2,
     .shape = broadcast_rule,
     .lower = lower::no_gradient,
     .example = "i32[B,4] i32[4] -> i32[B,4] | flop 4*B"},
    {.name = "BitwiseNot",
     .since = 18,
     .shape = like_first,
     .lower = lower::no_gradient,
     .example = "i32[B,4] -> i32[B,4] | flop 4*B"},
    {.name = "BitwiseOr",
     .since = 18,
     .inputs = 2,
     .shape = broadcast_rule,
     .lower = lower::no_gradient,
     .example = "i32[B,4] i32[1] -> i32[B,4] | flop 4*B"},
    {.name = "BitwiseXor",
     .since = 18,
     .inputs = 2,
     .shape = broadcast_rule,
     .lower = lower::no_gradient,
     .example = "i32[B,1] i32[4] -> i32[B,4] | flop 4*B"},
    {.name = "Equal",
     .traits = OpRow::kPredicate,
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = comparison<fold_equal>,
     .lower = lower::no_gradient,
     .example = "i64[B,4] i64[] -> bool[B,4] | flop 4*B"},
    {.name = "Greater",
     .traits = OpRow::kPredicate,
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = comparison<fold_greater>,
     .lower = lower::no_gradient,
     .example = "f32[B,4] f32[B,1] -> bool[B,4] | flop 4*B"},
    {.name = "GreaterOrEqual",
     .traits = OpRow::kPredicate,
     .since = 12,
     .inputs = 2,
     .shape = comparison<fold_greater_or_equal>,
     .lower = lower::no_gradient,
     .example = "f32[B,4] f32[B,1] -> bool[B,4] | flop 4*B"},
    {.name = "IsInf",
     .traits = OpRow::kPredicate,
     .since = 10,
     .attributes = "detect_negative detect_positive",
     .shape = unary_bool,
     .lower = lower::no_gradient,
     .example = "f32[B,4] -> bool[B,4] | flop 4*B"},
    {.name = "IsNaN",
     .traits = OpRow::kPredicate,
     .since = 9,
     .shape = unary_bool,
     .lower = lower::no_gradient,
     .example = "f32[B,4] -> bool[B,4] | flop 4*B"},
    {.name = "Less",
     .traits = OpRow::kPredicate,
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = comparison<fold_less>,
     .lower = lower::no_gradient,
     .example = "i64[S] i64[S,1] -> bool[S,S] | flop S*S"},
    {.name = "LessOrEqual",
     .traits = OpRow::kPredicate,
     .since = 12,
     .inputs = 2,
     .shape = comparison<fold_less_or_equal>,
     .lower = lower::no_gradient,
     .example = "i64[S] i64[S,1] -> bool[S,S] | flop S*S"},
    {.name = "Not",
     .traits = OpRow::kPredicate,
     .shape = negation,
     .lower = lower::no_gradient,
     .example = "bool[B,4] -> bool[B,4] | flop 4*B"},
    {.name = "Or",
     .traits = OpRow::kPredicate | OpRow::kCommutes,
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = comparison<fold_max>,
     .lower = lower::no_gradient,
     .example = "bool[B,4] bool[4] -> bool[B,4] | flop 4*B"},
    {.name = "Xor",
     .traits = OpRow::kPredicate,
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = comparison<differ>,
     .lower = lower::no_gradient,
     .example = "bool[B,4] bool[4] -> bool[B,4] | flop 4*B"},
};

}  // namespace

std::span<const OpRow> logic_rows() { return kLogicRows; }

}  // namespace plimsoll::ops
