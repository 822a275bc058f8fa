#include <algorithm>

#include "graph/eager/autocast.h"
#include "graph/ops/lower.h"

namespace plimsoll::lower {
namespace {

// Temporaries of the derivative formulas, at the operands' size: `shared` ones live from the first
// gradient's making to the last's, `own` ones and `masks` while one is made
// (tools/autograd/derivatives.yaml, FunctionsManual.cpp).
struct Function {
  std::string_view op;
  size_t shared, own, masks = 0;
};

constexpr Function kFunctions[] = {
    {"Atan2", 5, 0},          // grad * other / (self * self + other * other), and its mirror image
    {"Logaddexp", 0, 3},      // grad / (1 + exp(other - self))
    {"Xlogy", 0, 1, 3},       // xlogy(grad, other).masked_fill((self == 0) & (other <= 0), 0)
    {"BceLoss", 0, 1},        // the target's: grad * logit(self)
    {"BceLogitsLoss", 0, 1},  // the target's: grad * -self
};

Function function_named(std::string_view op) {
  for (const Function& f : kFunctions) {
    if (f.op == op) return f;
  }
  return {op, 0, 0};
}

std::vector<Value> made(eager::Machine& m, const eager::Value& like, DType dtype, size_t count) {
  std::vector<Value> values(count);
  for (Value& v : values) v = m.allocate(dtype, like.sizes());
  return values;
}

}  // namespace

Values function_of_two(Lowering& l) {
  const Function f = function_named(l.node().op);
  const std::string op(f.op);
  // Losses read 32 bits under autocast (ATen/autocast_mode.h).
  const bool is_loss = op.ends_with("Loss");
  std::vector<Value> operands(l.inputs().begin(), l.inputs().end());
  for (Value& v : operands) v = is_loss ? eager::to_single(l.m, v) : v;
  const Value& x = operands[0];
  Value y = l.m.allocate(is_loss ? x.dtype() : l.out_dtype(0), l.out_shape(0));
  l.m.launch_over(KernelClass::kPointwise, op, x.count() * Dim(8), operands, y);
  l.m.record(y, operands, {{x, "both operands are kept"}, {operands[1], "both operands are kept"}},
             [f, op](eager::Machine& m, const eager::Gradients& g, const eager::GradNode& n) {
               eager::Gradients out(2);
               const std::vector<Value> shared = made(m, n.saved(0), n.saved(0).dtype(), f.shared);
               for (size_t i = 0; i < 2; ++i) {
                 if (!n.needs(i)) continue;
                 const std::vector<Value> own = made(m, n.saved(i), n.saved(i).dtype(), f.own);
                 const std::vector<Value> masks = made(m, n.saved(i), DType::kBool, f.masks);
                 const Value parts[] = {g[0], n.saved(0), n.saved(1)};
                 out[i] = eager::elementwise(m, op, parts, n.saved(0).dtype(), 8);
               }
               return out;
             });
  return {y};
}

// (a / |a| * (b / |b|)).sum(), with copies of both lengths that are bounded in place
// (ATen/native/Distance.cpp).
Values cosine_similarity(Lowering& l) {
  const Shape whole =
      broadcast(l.in(0).sizes(), l.in(1).sizes(), l.m.decider()).value_or(l.in(0).sizes());
  const bool keep = l.attributes().integer("keepdims", 1) != 0;
  const auto axes = l.axes(2, whole.size(), true);
  Value both[2];
  Value lengths[2];
  for (size_t i = 0; i < 2; ++i) {
    both[i] = eager::expand(l.m, l.in(i), whole);
    const Value length =
        eager::reduce(l.m, "ReduceL2", both[i], axes, true, eager::Reduction::kKeepsInputAndResult,
                      eager::kNormTemporaries);
    lengths[i] = eager::clone(l.m, length);
  }
  for (size_t i = 0; i < 2; ++i) both[i] = eager::div(l.m, both[i], lengths[i]);
  const Value product = eager::mul(l.m, both[0], both[1]);
  return {eager::reduce(l.m, "reduce", product, axes, keep, eager::Reduction::kSum)};
}

Values distances(Lowering& l) {
  const bool products = l.node().op == "EuclideanDist";
  return {products ? eager::euclidean_distances(l.m, l.in(0), l.in(1), l.out_shape(0))
                   : eager::distances(l.m, l.in(0), l.in(1), l.out_shape(0))};
}

// plimsoll:Bilinear: x, y, weight [I, O*J].
Values bilinear(Lowering& l) { return {eager::bilinear(l.m, l.in(0), l.in(1), l.in(2))}; }

}  // namespace plimsoll::lower
