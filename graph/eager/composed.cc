#include "graph/eager/composed.h"

#include <vector>

#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

Value number(Machine& m, const Value& like) { return m.host(like.dtype(), {}); }

}  // namespace

bool composes(const Machine& m) { return m.policy().composes_functions && !m.recipe().compiled; }

Value composed_gelu(Machine& m, const Value& x) {
  const Value scaled = div(m, x, number(m, x));
  Value part = unary(m, "erf", scaled, Keeps::kInput, "erf keeps its input", 8);
  part = add(m, part, number(m, x));
  part = mul(m, part, number(m, x));
  return mul(m, x, part);
}

Value composed_layer_norm(Machine& m, const Value& x, const Value& scale, const Value& bias,
                          size_t axis) {
  std::vector<size_t> axes;
  for (size_t i = axis; i < x.rank(); ++i) axes.push_back(i);
  const auto mean_of = [&](const Value& v) {
    return reduce(m, "reduce", v, axes, true, Reduction::kMean);
  };
  const Value mean = mean_of(x);
  const Value squared = binary_keeping_both(m, "squared_difference", x, mean.detached());
  Value factor = add(m, mean_of(squared), number(m, x));
  factor = unary(m, "rsqrt", factor, Keeps::kResult, "rsqrt keeps its result");
  if (scale.defined()) factor = mul(m, factor, scale);
  const Value scaled = mul(m, x, factor);
  const Value shift = mul(m, mean, factor);
  if (!bias.defined()) return add(m, scaled, shift, "sub");
  return add(m, scaled, add(m, bias, shift, "sub"));
}

}  // namespace plimsoll::eager
