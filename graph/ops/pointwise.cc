// Element-wise operators: arithmetic, functions, logic, comparison, casts.
#include <algorithm>
#include <cmath>

#include "graph/ops/data_propagation.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

template <Fold fold>
Result<void> arithmetic(InferContext& c) {
  if (auto done = broadcast_rule(c); !done) return done;
  follow_elementwise(c, fold);
  return {};
}

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

// Of numbers alone: side lengths as roots of counts.
std::optional<Fraction> fold_pow(InferContext&, const Fraction& a, const Fraction& b, bool) {
  const auto base = a.over.constant();
  const auto under = a.under.constant();
  const auto over = b.over.constant();
  const auto root = b.under.constant();
  if (!base || !under || !over || !root) return std::nullopt;
  const auto quotient = [](int64_t x, int64_t y) {
    return static_cast<double>(x) / static_cast<double>(y);
  };
  return as_fraction(std::pow(quotient(*base, *under), quotient(*over, *root)));
}

Result<void> unary_bool(InferContext& c) {
  c.set(0, DType::kBool, c.shape(0));
  return {};
}

std::optional<Fraction> negated(InferContext&, const Fraction& a) {
  return Fraction{Dim(0) - a.over, a.under};
}
std::optional<Fraction> inverted(InferContext& c, const Fraction& a) {
  return fold_div(c, {1, 1}, a, false);
}
std::optional<Fraction> magnitude(InferContext& c, const Fraction& a) {
  return c.decider().at_most(0, a.over) ? a : negated(c, a);
}
std::optional<Fraction> logical_not(InferContext& c, const Fraction& a) {
  return Fraction{c.decider().equal(a.over, 0) ? 1 : 0, 1};
}

template <std::optional<Fraction> (*fold)(InferContext&, const Fraction&)>
Result<void> unary(InferContext& c) {
  c.set(0, c.dtype(0), c.shape(0));
  follow_unary(c, fold);
  return {};
}

// Contents through a change of type: reals are truncated towards zero, anything becomes a truth.
void follow_cast(InferContext& c, DType to) {
  auto values = known(c, 0);
  if (!values) return;
  for (Fraction& value : *values) {
    if (to == DType::kBool) {
      value = {c.decider().equal(value.over, 0) ? 0 : 1, 1};
    } else if (!is_float(to) && !(value.under == Dim(1))) {
      value = c.decider().at_most(0, value.over) ? Fraction{floor_div(value.over, value.under), 1}
                                                 : Fraction{ceil_div(value.over, value.under), 1};
    }
  }
  set_known(c, 0, std::move(*values));
}

Result<void> cast(InferContext& c) {
  if (!c.attributes().has("to")) return c.fail("E247", "attribute 'to' is missing");
  const auto to = dtype_attribute(c, "to", DType::kUndefined);
  if (!to) return tl::unexpected(to.error());
  c.set(0, *to, c.shape(0));
  follow_cast(c, *to);
  return {};
}

// Of its second input nothing is read but the type, which is known now: the node becomes a Cast,
// that nothing waits for that input, holds it or counts it.
Result<void> cast_like(InferContext& c) {
  const DType to = c.dtype(1);
  c.set(0, to, c.shape(0));
  follow_cast(c, to);
  if (c.node().outputs[0] == kNoTensor) return {};
  Node& node = c.graph().nodes[c.graph().tensors[c.node().outputs[0]].producer];
  node.op = "Cast";
  node.inputs.resize(1);
  node.attributes.set("to", static_cast<int64_t>(to));
  return {};
}

// Contents where the condition is known and all three have one shape or one element.
void follow_where(InferContext& c) {
  const auto condition = known(c, 0);
  const auto yes = known(c, 1);
  const auto no = known(c, 2);
  if (!condition || !yes || !no) return;
  const size_t size = std::max({condition->size(), yes->size(), no->size()});
  const auto at = [&](const Fractions& values, size_t i) -> const Fraction* {
    return values.size() == size ? &values[i] : values.size() == 1 ? &values[0] : nullptr;
  };
  Fractions chosen;
  for (size_t i = 0; i < size; ++i) {
    const Fraction* test = at(*condition, i);
    if (!test || !at(*yes, i) || !at(*no, i)) return;
    chosen.push_back(c.decider().equal(test->over, 0) ? *at(*no, i) : *at(*yes, i));
  }
  set_known(c, 0, std::move(chosen));
}

Result<void> where(InferContext& c) {
  auto shape = broadcast_inputs(c);
  if (!shape) return tl::unexpected(shape.error());
  c.set(0, c.dtype(1), std::move(*shape));
  follow_where(c);
  return {};
}

constexpr OpRow kPointwiseRows[] = {
    {.name = "Abs",
     .attributes = "consumed_inputs",
     .shape = unary<magnitude>,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Acos",
     .since = 7,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Acosh",
     .since = 9,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Add",
     .traits = OpRow::kCommutes,
     .inputs = 2,
     .attributes = "axis broadcast consumed_inputs",
     .shape = arithmetic<fold_add>,
     .lower = lower::add,
     .example = "f32[B,1,4] f32[3,1] -> f32[B,3,4]"},
    {.name = "And",
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = comparison<fold_min>,
     .lower = lower::no_gradient,
     .example = "bool[B,4] bool[4] -> bool[B,4]"},
    {.name = "Asin",
     .since = 7,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Asinh",
     .since = 9,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Atan",
     .since = 7,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Atanh",
     .since = 9,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "BitShift",
     .since = 11,
     .inputs = 2,
     .attributes = "direction",
     .shape = broadcast_rule,
     .lower = lower::no_gradient,
     .example = "u8[B,4] u8[4] {direction=\"LEFT\"} -> u8[B,4]"},
    {.name = "BitwiseAnd",
     .since = 18,
     .inputs = 2,
     .shape = broadcast_rule,
     .lower = lower::no_gradient,
     .example = "i32[B,4] i32[4] -> i32[B,4]"},
    {.name = "BitwiseNot",
     .since = 18,
     .shape = like_first,
     .lower = lower::no_gradient,
     .example = "i32[B,4] -> i32[B,4]"},
    {.name = "BitwiseOr",
     .since = 18,
     .inputs = 2,
     .shape = broadcast_rule,
     .lower = lower::no_gradient,
     .example = "i32[B,4] i32[1] -> i32[B,4]"},
    {.name = "BitwiseXor",
     .since = 18,
     .inputs = 2,
     .shape = broadcast_rule,
     .lower = lower::no_gradient,
     .example = "i32[B,1] i32[4] -> i32[B,4]"},
    {.name = "Cast",
     .attributes = "round_mode saturate to",
     .shape = cast,
     .lower = lower::cast,
     .example = "f32[B,4] {to=10} -> f16[B,4]"},
    {.name = "CastLike",
     .since = 15,
     .inputs = 2,
     .attributes = "round_mode saturate",
     .shape = cast_like,
     .lower = lower::cast,
     .example = "f32[B,4] f16[2] -> f16[B,4]"},
    {.name = "Ceil",
     .attributes = "consumed_inputs",
     .shape = unary<fold_ceil>,
     .lower = lower::zero_gradient,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Cos",
     .since = 7,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Cosh",
     .since = 9,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Div",
     .inputs = 2,
     .attributes = "axis broadcast consumed_inputs",
     .shape = arithmetic<fold_div>,
     .lower = lower::div,
     .example = "f32[B,4] f32[] -> f32[B,4]"},
    {.name = "Equal",
     .traits = OpRow::kComparison,
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = comparison<fold_equal>,
     .lower = lower::no_gradient,
     .example = "i64[B,4] i64[] -> bool[B,4]"},
    {.name = "Erf",
     .since = 9,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Exp",
     .attributes = "consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Floor",
     .attributes = "consumed_inputs",
     .shape = unary<fold_floor>,
     .lower = lower::zero_gradient,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Greater",
     .traits = OpRow::kComparison,
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = comparison<fold_greater>,
     .lower = lower::no_gradient,
     .example = "f32[B,4] f32[B,1] -> bool[B,4]"},
    {.name = "GreaterOrEqual",
     .traits = OpRow::kComparison,
     .since = 12,
     .inputs = 2,
     .shape = comparison<fold_greater_or_equal>,
     .lower = lower::no_gradient,
     .example = "f32[B,4] f32[B,1] -> bool[B,4]"},
    {.name = "IsInf",
     .since = 10,
     .attributes = "detect_negative detect_positive",
     .shape = unary_bool,
     .lower = lower::no_gradient,
     .example = "f32[B,4] -> bool[B,4]"},
    {.name = "IsNaN",
     .since = 9,
     .shape = unary_bool,
     .lower = lower::no_gradient,
     .example = "f32[B,4] -> bool[B,4]"},
    {.name = "Less",
     .traits = OpRow::kComparison,
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = comparison<fold_less>,
     .lower = lower::no_gradient,
     .example = "i64[S] i64[S,1] -> bool[S,S]"},
    {.name = "LessOrEqual",
     .traits = OpRow::kComparison,
     .since = 12,
     .inputs = 2,
     .shape = comparison<fold_less_or_equal>,
     .lower = lower::no_gradient,
     .example = "i64[S] i64[S,1] -> bool[S,S]"},
    {.name = "Log",
     .attributes = "consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Max",
     .traits = OpRow::kCommutes,
     .inputs = kEveryInput,
     .attributes = "consumed_inputs",
     .shape = arithmetic<fold_max>,
     .lower = lower::keep_both,
     .example = "f32[B,4] f32[4] f32[1] -> f32[B,4]"},
    {.name = "Mean",
     .inputs = kEveryInput,
     .attributes = "consumed_inputs",
     .shape = broadcast_rule,
     .lower = lower::mean,
     .example = "f32[B,1] f32[4] -> f32[B,4]"},
    {.name = "Min",
     .inputs = kEveryInput,
     .attributes = "consumed_inputs",
     .shape = arithmetic<fold_min>,
     .lower = lower::keep_both,
     .example = "f32[B,4] f32[1] -> f32[B,4]"},
    {.name = "Mod",
     .since = 10,
     .inputs = 2,
     .attributes = "fmod",
     .shape = arithmetic<fold_mod>,
     .lower = lower::keep_both,
     .example = "i64[B,4] i64[] -> i64[B,4]"},
    {.name = "Mul",
     .traits = OpRow::kCommutes,
     .inputs = 2,
     .attributes = "axis broadcast consumed_inputs",
     .shape = arithmetic<fold_mul>,
     .lower = lower::mul,
     .example = "f32[B,8,7,7] f32[B,8,1,1] -> f32[B,8,7,7]"},
    {.name = "Neg",
     .attributes = "consumed_inputs",
     .shape = unary<negated>,
     .lower = lower::keep_nothing,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Not",
     .shape = unary<logical_not>,
     .lower = lower::no_gradient,
     .example = "bool[B,4] -> bool[B,4]"},
    {.name = "Or",
     .traits = OpRow::kCommutes,
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = comparison<fold_max>,
     .lower = lower::no_gradient,
     .example = "bool[B,4] bool[4] -> bool[B,4]"},
    {.name = "Pow",
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = arithmetic<fold_pow>,
     .lower = lower::pow,
     .example = "f32[B,4] f32[] -> f32[B,4]"},
    {.name = "Reciprocal",
     .attributes = "consumed_inputs",
     .shape = unary<inverted>,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Round",
     .since = 11,
     .shape = like_first,
     .lower = lower::zero_gradient,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Sign",
     .since = 9,
     .shape = like_first,
     .lower = lower::zero_gradient,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Sin",
     .since = 7,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Sinh",
     .since = 9,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Sqrt",
     .attributes = "consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Sub",
     .inputs = 2,
     .attributes = "axis broadcast consumed_inputs",
     .shape = arithmetic<fold_sub>,
     .lower = lower::sub,
     .example = "f32[] f32[B,1,1,S] -> f32[B,1,1,S]"},
    {.name = "Sum",
     .inputs = kEveryInput,
     .attributes = "consumed_inputs",
     .shape = arithmetic<fold_add>,
     .lower = lower::sum,
     .example = "f32[B,4] f32[B,4] f32[4] -> f32[B,4]"},
    {.name = "Tan",
     .since = 7,
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Where",
     .since = 9,
     .inputs = 3,
     .shape = where,
     .lower = lower::where,
     .example = "bool[B,1,S,S] f32[B,8,S,S] f32[] -> f32[B,8,S,S]"},
    {.name = "Xor",
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = comparison<differ>,
     .lower = lower::no_gradient,
     .example = "bool[B,4] bool[4] -> bool[B,4]"},
};

}  // namespace

std::span<const OpRow> pointwise_rows() { return kPointwiseRows; }

}  // namespace plimsoll::ops
