#include "graph/ops/data_propagation.h"

#include <cmath>
#include <numeric>

#include "graph/base/checked.h"

namespace plimsoll::ops {
namespace {

std::optional<Fraction> reduced(InferContext& c, Dim over, Dim under) {
  if (over.overflowed() || under.overflowed() || under == Dim(0)) return std::nullopt;
  if (const auto constant = under.constant(); constant && *constant < 0) {
    over = Dim(0) - over;
    under = Dim(0) - under;
  }
  if (const auto whole = divide_exactly(over, under)) return Fraction{*whole, 1};
  const auto a = over.constant();
  const auto b = under.constant();
  if (a && b && *a != INT64_MIN) {
    const int64_t common = std::gcd(*a, *b);
    return Fraction{*a / common, *b / common};
  }
  if (!c.decider().at_most(1, under)) return std::nullopt;
  return Fraction{over, under};
}

// Extents counted from the right: the value of an operand at an index of the wider output.
size_t broadcast_index(const Index& index, const std::vector<size_t>& shape) {
  size_t flat = 0;
  const size_t offset = index.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    flat = flat * shape[i] + (shape[i] == 1 ? 0 : index[offset + i]);
  }
  return flat;
}

bool advance(Index& index, const std::vector<size_t>& shape) {
  for (size_t i = shape.size(); i-- > 0;) {
    if (++index[i] < shape[i]) return true;
    index[i] = 0;
  }
  return false;
}

size_t count(const std::vector<size_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

const Tensor* output_tensor(InferContext& c, size_t output) {
  if (output >= c.outputs() || c.node().outputs[output] == kNoTensor) return nullptr;
  const Tensor& t = c.graph().tensors[c.node().outputs[output]];
  return t.shape ? &t : nullptr;
}

bool is_not_negative(InferContext& c, const Dim& d) { return c.decider().at_most(0, d); }

}  // namespace

std::optional<Fraction> as_fraction(double value) {
  constexpr int kMostUnder = 128;
  constexpr double kMostOver = 9e15;  // exact in a double
  for (int under = 1; under <= kMostUnder; ++under) {
    const double over = std::round(value * under);
    if (!(std::fabs(over) < kMostOver)) return std::nullopt;
    const double back = over / under;
    if (back == value || static_cast<double>(static_cast<float>(back)) == value) {
      return Fraction{static_cast<int64_t>(over), under};
    }
  }
  constexpr int kMostBits = 30;
  const double over = std::ldexp(value, kMostBits);
  if (!(std::fabs(over) < kMostOver) || over != std::floor(over)) return std::nullopt;
  return Fraction{static_cast<int64_t>(over), int64_t{1} << kMostBits};
}

std::optional<std::vector<size_t>> small_shape(const Shape& shape) {
  std::vector<size_t> extents;
  size_t product = 1;
  for (const Dim& d : shape) {
    const auto value = d.constant();
    if (!value || *value < 0 || *value > static_cast<int64_t>(kMostFollowed)) return std::nullopt;
    extents.push_back(static_cast<size_t>(*value));
    product *= extents.back();
    if (product > kMostFollowed) return std::nullopt;
  }
  return extents;
}

std::optional<Fractions> known(InferContext& c, size_t input) {
  if (!c.has(input)) return std::nullopt;
  const Tensor& t = c.tensor(input);
  const auto extents = small_shape(*t.shape);
  if (!extents) return std::nullopt;
  const size_t size = count(*extents);
  Fractions values;
  if (t.has_dims && t.dims.size() == size) {
    const bool divided = t.divisors.size() == size;
    for (size_t i = 0; i < size; ++i) {
      values.push_back({t.dims[i], divided ? t.divisors[i] : Dim(1)});
    }
    return values;
  }
  const auto* reals = c.reals(input);
  if (!reals || reals->size() != size) return std::nullopt;
  for (const double real : *reals) {
    const auto value = as_fraction(real);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

void set_known(InferContext& c, size_t output, Fractions values) {
  const Tensor* t = output_tensor(c, output);
  if (!t) return;
  std::vector<Dim> dims, divisors;
  std::vector<double> reals;
  const bool real = is_float(t->dtype);
  for (Fraction& f : values) {
    if (f.over.overflowed() || (!real && !(f.under == Dim(1)))) return;
    const auto over = f.over.constant();
    const auto under = f.under.constant();
    if (over && under) reals.push_back(static_cast<double>(*over) / static_cast<double>(*under));
    dims.push_back(std::move(f.over));
    if (real) divisors.push_back(std::move(f.under));
  }
  const bool constant = real && reals.size() == dims.size();
  c.set_dims(output, std::move(dims), std::move(divisors));
  if (constant && t->has_dims) c.set_reals(output, std::move(reals));
}

std::optional<Fraction> fold_add(InferContext& c, const Fraction& a, const Fraction& b, bool) {
  if (a.under == b.under) return reduced(c, a.over + b.over, a.under);
  return reduced(c, a.over * b.under + b.over * a.under, a.under * b.under);
}

std::optional<Fraction> fold_sub(InferContext& c, const Fraction& a, const Fraction& b,
                                 bool whole) {
  return fold_add(c, a, {Dim(0) - b.over, b.under}, whole);
}

std::optional<Fraction> fold_mul(InferContext& c, const Fraction& a, const Fraction& b, bool) {
  return reduced(c, a.over * b.over, a.under * b.under);
}

std::optional<Fraction> fold_div(InferContext& c, const Fraction& a, const Fraction& b,
                                 bool whole) {
  if (!whole) return reduced(c, a.over * b.under, a.under * b.over);
  const auto x = a.over.constant();
  const auto y = b.over.constant();
  if (x && y) {
    if (*y == 0 || *y == -1) return std::nullopt;
    // fmod: the sign of the dividend, as C's remainder has it.
    if (c.attributes().integer("fmod", 0) != 0) return Fraction{*x % *y, 1};
    return Fraction{*x / *y, 1};
  }
  if (!is_not_negative(c, a.over) || !c.decider().at_most(1, b.over)) return std::nullopt;
  return Fraction{floor_div(a.over, b.over), 1};
}

// Of whole numbers, with the sign of the divisor.
std::optional<Fraction> fold_mod(InferContext& c, const Fraction& a, const Fraction& b,
                                 bool whole) {
  if (!whole) return std::nullopt;
  const auto x = a.over.constant();
  const auto y = b.over.constant();
  if (x && y) {
    if (*y == 0 || *y == -1) return std::nullopt;
    // fmod: the sign of the dividend, as C's remainder has it.
    if (c.attributes().integer("fmod", 0) != 0) return Fraction{*x % *y, 1};
    return Fraction{a.over - Dim(floor_divide(*x, *y)) * b.over, 1};
  }
  if (!c.decider().at_most(1, b.over)) return std::nullopt;
  return Fraction{a.over - floor_div(a.over, b.over) * b.over, 1};
}

std::optional<Fraction> fold_max(InferContext& c, const Fraction& a, const Fraction& b, bool) {
  if (a.under == b.under) return Fraction{max(a.over, b.over), a.under};
  return reduced(c, max(a.over * b.under, b.over * a.under), a.under * b.under);
}

std::optional<Fraction> fold_min(InferContext& c, const Fraction& a, const Fraction& b, bool) {
  if (a.under == b.under) return Fraction{min(a.over, b.over), a.under};
  return reduced(c, min(a.over * b.under, b.over * a.under), a.under * b.under);
}

std::optional<Fraction> fold_equal(InferContext& c, const Fraction& a, const Fraction& b, bool) {
  return Fraction{c.decider().equal(a.over * b.under, b.over * a.under) ? 1 : 0, 1};
}

std::optional<Fraction> fold_less_or_equal(InferContext& c, const Fraction& a, const Fraction& b,
                                           bool) {
  return Fraction{c.decider().at_most(a.over * b.under, b.over * a.under) ? 1 : 0, 1};
}

std::optional<Fraction> fold_less(InferContext& c, const Fraction& a, const Fraction& b, bool) {
  return Fraction{c.decider().at_most(b.over * a.under, a.over * b.under) ? 0 : 1, 1};
}

std::optional<Fraction> fold_floor(InferContext&, const Fraction& a) {
  return Fraction{floor_div(a.over, a.under), 1};
}

std::optional<Fraction> fold_ceil(InferContext&, const Fraction& a) {
  return Fraction{ceil_div(a.over, a.under), 1};
}

void follow_elementwise(InferContext& c, Fold fold) {
  const Tensor* out = output_tensor(c, 0);
  const auto extents = out ? small_shape(*out->shape) : std::nullopt;
  if (!extents || count(*extents) == 0) return;
  const bool whole = !is_float(c.dtype(0));
  std::vector<Fractions> operands;
  std::vector<std::vector<size_t>> shapes;
  for (size_t i = 0; i < c.inputs(); ++i) {
    auto values = known(c, i);
    if (!values) return;
    operands.push_back(std::move(*values));
    shapes.push_back(*small_shape(c.shape(i)));
  }
  Fractions results;
  Index index(extents->size(), 0);
  do {
    std::optional<Fraction> result = operands[0][broadcast_index(index, shapes[0])];
    for (size_t i = 1; i < operands.size() && result; ++i) {
      result = fold(c, *result, operands[i][broadcast_index(index, shapes[i])], whole);
    }
    if (!result) return;
    results.push_back(std::move(*result));
  } while (advance(index, *extents));
  set_known(c, 0, std::move(results));
}

void follow_unary(InferContext& c,
                  std::optional<Fraction> (*fold)(InferContext&, const Fraction&)) {
  auto values = known(c, 0);
  if (!values) return;
  for (Fraction& value : *values) {
    const auto result = fold(c, value);
    if (!result) return;
    value = *result;
  }
  set_known(c, 0, std::move(*values));
}

size_t flat_index(const Index& index, const std::vector<size_t>& shape) {
  size_t flat = 0;
  for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + index[i];
  return flat;
}

void follow_moved(InferContext& c, size_t output, size_t input,
                  const std::function<size_t(const Index&)>& source) {
  const Tensor* out = output_tensor(c, output);
  const auto extents = out ? small_shape(*out->shape) : std::nullopt;
  const auto values = known(c, input);
  if (!extents || !values) return;
  Fractions moved;
  if (count(*extents) == 0) return set_known(c, output, std::move(moved));
  Index index(extents->size(), 0);
  do {
    const size_t at = source(index);
    if (at >= values->size()) return;
    moved.push_back((*values)[at]);
  } while (advance(index, *extents));
  set_known(c, output, std::move(moved));
}

void follow_same(InferContext& c) {
  if (auto values = known(c, 0)) set_known(c, 0, std::move(*values));
}

}  // namespace plimsoll::ops
