// Element-wise operators: arithmetic, functions, casts.
#include <algorithm>
#include <cmath>

#include "graph/base/try.h"
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

std::optional<Fraction> negated(InferContext&, const Fraction& a) {
  return Fraction{Dim(0) - a.over, a.under};
}
std::optional<Fraction> inverted(InferContext& c, const Fraction& a) {
  return fold_div(c, {1, 1}, a, false);
}
std::optional<Fraction> magnitude(InferContext& c, const Fraction& a) {
  return c.decider().at_most(0, a.over) ? a : negated(c, a);
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
  const auto to = TRY(dtype_attribute(c, "to", DType::kUndefined));
  c.set(0, to, c.shape(0));
  follow_cast(c, to);
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
  auto shape = TRY(broadcast_inputs(c));
  c.set(0, c.dtype(1), std::move(shape));
  follow_where(c);
  return {};
}

constexpr OpRow kPointwiseRows[] = {
    {.name = "Abs",
     .attributes = "consumed_inputs",
     .shape = unary<magnitude>,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "Acos",
     .since = 7,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "Acosh",
     .since = 9,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "Add",
     .traits = OpRow::kAddition | OpRow::kCommutes,
     .inputs = 2,
     .attributes = "axis broadcast consumed_inputs",
     .shape = arithmetic<fold_add>,
     .lower = lower::add,
     .example = "f32[B,1,4] f32[3,1] -> f32[B,3,4] | flop 12*B | grads in0 in1"},
    {.name = "Asin",
     .since = 7,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "Asinh",
     .since = 9,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "Atan",
     .since = 7,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "Atanh",
     .since = 9,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "Cast",
     .traits = OpRow::kConversion,
     .attributes = "round_mode saturate to",
     .shape = cast,
     .lower = lower::cast,
     .example = "f32[B,4] {to=10} -> f16[B,4] | flop 0 | grads in0"},
    {.name = "CastLike",
     .traits = OpRow::kConversion,
     .since = 15,
     .inputs = 2,
     .attributes = "round_mode saturate",
     .shape = cast_like,
     .lower = lower::cast,
     .host_from = 1,
     .example = "f32[B,4] f16[2] -> f16[B,4] | flop 0 | grads in0"},
    {.name = "Ceil",
     .attributes = "consumed_inputs",
     .shape = unary<fold_ceil>,
     .lower = lower::zero_gradient,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | grads in0"},
    {.name = "Cos",
     .since = 7,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps in0 | grads in0"},
    {.name = "Cosh",
     .since = 9,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "Div",
     .traits = OpRow::kMultiplication,
     .inputs = 2,
     .attributes = "axis broadcast consumed_inputs",
     .shape = arithmetic<fold_div>,
     .lower = lower::div,
     .example = "f32[B,4] f32[] -> f32[B,4] | flop 4*B | keeps in0 in1 | grads in0 in1"},
    {.name = "Erf",
     .since = 9,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps in0 | grads in0"},
    {.name = "Exp",
     .attributes = "consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps out0 | grads in0"},
    {.name = "Floor",
     .attributes = "consumed_inputs",
     .shape = unary<fold_floor>,
     .lower = lower::zero_gradient,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | grads in0"},
    {.name = "Log",
     .attributes = "consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps in0 | grads in0"},
    {.name = "Max",
     .traits = OpRow::kCommutes,
     .inputs = kEveryInput,
     .attributes = "consumed_inputs",
     .shape = arithmetic<fold_max>,
     .lower = lower::keep_both,
     .example = "f32[B,4] f32[4] f32[1] -> f32[B,4] | flop 8*B | keeps f32[B,4] in0 in1 in2 | "
                "grads in0 in1 in2"},
    {.name = "Mean",
     .inputs = kEveryInput,
     .attributes = "consumed_inputs",
     .shape = broadcast_rule,
     .lower = lower::mean,
     .example = "f32[B,1] f32[4] -> f32[B,4] | flop 8*B | grads in0 in1"},
    {.name = "Min",
     .inputs = kEveryInput,
     .attributes = "consumed_inputs",
     .shape = arithmetic<fold_min>,
     .lower = lower::keep_both,
     .example = "f32[B,4] f32[1] -> f32[B,4] | flop 4*B | keeps in0 in1 | grads in0 in1"},
    {.name = "Mod",
     .since = 10,
     .inputs = 2,
     .attributes = "fmod",
     .shape = arithmetic<fold_mod>,
     .lower = lower::keep_both,
     .example = "i64[B,4] i64[] -> i64[B,4] | flop 4*B"},
    {.name = "Mul",
     .traits = OpRow::kMultiplication | OpRow::kCommutes,
     .inputs = 2,
     .attributes = "axis broadcast consumed_inputs",
     .shape = arithmetic<fold_mul>,
     .lower = lower::mul,
     .example =
         "f32[B,8,7,7] f32[B,8,1,1] -> f32[B,8,7,7] | flop 392*B | keeps in0 in1 | grads in0 in1"},
    {.name = "Neg",
     .attributes = "consumed_inputs",
     .shape = unary<negated>,
     .lower = lower::keep_nothing,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | grads in0"},
    {.name = "Pow",
     .inputs = 2,
     .attributes = "axis broadcast",
     .shape = arithmetic<fold_pow>,
     .lower = lower::pow,
     .example = "f32[B,4] f32[] -> f32[B,4] | flop 32*B | keeps in0 in1 out0 | grads in0 in1"},
    {.name = "Reciprocal",
     .attributes = "consumed_inputs",
     .shape = unary<inverted>,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps out0 | grads in0"},
    {.name = "Round",
     .since = 11,
     .shape = like_first,
     .lower = lower::zero_gradient,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | grads in0"},
    {.name = "Sign",
     .since = 9,
     .shape = like_first,
     .lower = lower::zero_gradient,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | grads in0"},
    {.name = "Sin",
     .since = 7,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps in0 | grads in0"},
    {.name = "Sinh",
     .since = 9,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "Sqrt",
     .attributes = "consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps out0 | grads in0"},
    {.name = "Sub",
     .traits = OpRow::kAddition,
     .inputs = 2,
     .attributes = "axis broadcast consumed_inputs",
     .shape = arithmetic<fold_sub>,
     .lower = lower::sub,
     .example = "f32[] f32[B,1,1,S] -> f32[B,1,1,S] | flop B*S | grads in0 in1"},
    {.name = "Sum",
     .traits = OpRow::kAddition | OpRow::kCommutes,
     .inputs = kEveryInput,
     .attributes = "consumed_inputs",
     .shape = arithmetic<fold_add>,
     .lower = lower::sum,
     .example = "f32[B,4] f32[B,4] f32[4] -> f32[B,4] | flop 8*B | grads in0 in1 in2"},
    {.name = "Tan",
     .since = 7,
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps out0 | grads in0"},
    {.name = "Where",
     .since = 9,
     .inputs = 3,
     .shape = where,
     .lower = lower::where,
     .example = "bool[B,1,S,S] f32[B,8,S,S] f32[] -> f32[B,8,S,S] | flop 8*B*S*S | keeps in0 | "
                "grads in1 in2"},
};

}  // namespace

std::span<const OpRow> pointwise_rows() { return kPointwiseRows; }

}  // namespace plimsoll::ops
