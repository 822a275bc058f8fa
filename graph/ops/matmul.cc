// Matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/base/try.h"
#include "graph/ops/einsum_equation.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// NumPy's matmul: a vector on the left gets a row in front, on the right a column behind, and both
// lose it again; leading dimensions broadcast.
Result<Shape> product_shape(InferContext& c, Shape a, Shape b) {
  if (a.empty() || b.empty()) return c.fail("E253", "a matrix product of a scalar");
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  if (auto same = require_equal(c, a.back(), b[b.size() - 2], "contracted extents"); !same) {
    return tl::unexpected(same.error());
  }
  auto shape = broadcast_two(c, {a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!shape) return shape;
  if (!row) shape->push_back(a[a.size() - 2]);
  if (!column) shape->push_back(b.back());
  return shape;
}

Result<void> matmul_of(InferContext& c, size_t right, DType out) {
  auto shape = TRY(product_shape(c, c.shape(0), c.shape(right)));
  c.set(0, out, std::move(shape));
  return {};
}

Result<void> matmul(InferContext& c) { return matmul_of(c, 1, c.dtype(0)); }
Result<void> matmul_integer(InferContext& c) { return matmul_of(c, 1, DType::kInt32); }
// a, its scale and zero point, b, its scale and zero point, y's scale and zero point.
Result<void> qlinear_matmul(InferContext& c) { return matmul_of(c, 3, c.dtype(7)); }

Result<void> fused_matmul(InferContext& c) {
  const auto turned = [&](size_t input, std::string_view last, std::string_view batch) {
    Shape shape;
    for (const size_t axis : product_axes(c.rank(input), c.attributes(), last, batch))
      shape.push_back(c.shape(input)[axis]);
    return shape;
  };
  auto shape =
      TRY(product_shape(c, turned(0, "transA", "transBatchA"), turned(1, "transB", "transBatchB")));
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

Result<void> gemm(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2, 2); !checked) return checked;
  if (auto checked = require_rank(c, 1, 2, 2); !checked) return checked;
  const size_t a = c.attributes().integer("transA", 0) != 0 ? 1 : 0;
  const size_t b = c.attributes().integer("transB", 0) != 0 ? 1 : 0;
  auto same = require_equal(c, c.shape(0)[1 - a], c.shape(1)[b], "contracted extents");
  if (!same) return same;
  const Shape out{c.shape(0)[a], c.shape(1)[1 - b]};
  if (c.has(2)) {
    const auto sum = TRY(broadcast_two(c, out, c.shape(2)));
    if (sum.size() != 2) return c.fail("E251", "the bias has more dimensions than the product");
  }
  c.set(0, c.dtype(0), out);
  return {};
}

Result<void> einsum(InferContext& c) {
  const auto* text = c.attributes().get<std::string>("equation");
  if (!text) return c.fail("E247", "attribute 'equation' is missing");
  const EinsumEquation equation = split_equation(*text);
  if (equation.operands.size() != c.inputs()) {
    return c.fail("E247", fmt::format("equation '{}' has {} operands, the node has {}", *text,
                                      equation.operands.size(), c.inputs()));
  }
  std::map<char, Dim> extents;
  std::vector<std::string> spelled;
  for (size_t i = 0; i < c.inputs(); ++i) {
    if (!c.has(i)) return c.fail("E253", fmt::format("input {} is missing", i));
    const auto labels = spell_labels(equation.operands[i], c.rank(i));
    if (!labels) {
      return c.fail("E247", fmt::format("'{}' does not label a tensor of rank {}",
                                        equation.operands[i], c.rank(i)));
    }
    for (size_t d = 0; d < labels->size(); ++d) {
      const auto [at, fresh] = extents.try_emplace((*labels)[d], c.shape(i)[d]);
      if (fresh) continue;
      const auto joined = TRY(broadcast_two(c, {at->second}, {c.shape(i)[d]}));
      at->second = joined.front();
    }
    spelled.push_back(*labels);
  }
  const auto result = result_labels(equation, spelled);
  if (!result) {
    return c.fail("E247", fmt::format("the result of equation '{}' names a label that no operand "
                                      "has, or one twice",
                                      *text));
  }
  Shape shape;
  for (const char label : *result) shape.push_back(extents.at(label));
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

Result<void> det(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2); !checked) return checked;
  const Shape& x = c.shape(0);
  if (auto same = require_equal(c, x.back(), x.end()[-2], "a square matrix"); !same) return same;
  c.set(0, c.dtype(0), {x.begin(), x.end() - 2});
  return {};
}

constexpr OpRow kMatmulRows[] = {
    {.name = "Det",
     .since = 11,
     .shape = det,
     .lower = lower::keep_inputs,
     .example = "f32[B,4,4] -> f32[B] | flop B | keeps in0 | grads in0"},
    {.name = "Einsum",
     .traits = OpRow::kOneType,
     .since = 12,
     .inputs = kEveryInput,
     .attributes = "equation",
     .shape = einsum,
     .lower = lower::einsum,
     .example = "f32[B,H,S,64] f32[B,H,T,64] {equation=\"bhid,bhjd->bhij\"} -> f32[B,H,S,T] | flop "
                "128*B*H*S*T | keeps in0 in1 | grads in0 in1"},
    {.name = "FusedGemm",
     .traits = OpRow::kDense | OpRow::kOneType,
     .weights = slots(1, 2),
     .domain = "com.microsoft",
     .inputs = 2,
     .attributes =
         "activation activation_alpha activation_beta activation_gamma alpha beta transA transB",
     .shape = gemm,
     .lower = lower::gemm,
     .example = "f32[B,4] f32[4,16] f32[16] {activation=\"Relu\"} -> f32[B,16] | flop 128*B | "
                "keeps in0 in1 | grads in0 in1 in2"},
    {.name = "FusedMatMul",
     .traits = OpRow::kDense | OpRow::kOneType,
     .weights = slots(1),
     .domain = "com.microsoft",
     .inputs = 2,
     .attributes = "alpha transA transB transBatchA transBatchB",
     .shape = fused_matmul,
     .lower = lower::fused_matmul,
     .example = "f32[B,8,S,64] f32[B,8,S,64] {transB=1, alpha=0.125} -> f32[B,8,S,S] | flop "
                "1024*B*S*S | keeps in0 in1 | grads in0 in1"},
    {.name = "Gemm",
     .traits = OpRow::kDense | OpRow::kOneType,
     .weights = slots(1, 2),
     .inputs = 2,
     .attributes = "alpha beta broadcast transA transB",
     .shape = gemm,
     .lower = lower::gemm,
     .example = "f32[B,4] f32[16,4] f32[16] {transB=1} -> f32[B,16] | flop 128*B | keeps in0 in1 | "
                "grads in0 in1 in2"},
    {.name = "MatMul",
     .traits = OpRow::kDense | OpRow::kOneType,
     .weights = slots(1),
     .inputs = 2,
     .shape = matmul,
     .lower = lower::matmul,
     .example =
         "f32[B,S,4] f32[4,16] -> f32[B,S,16] | flop 128*B*S | keeps in0 in1 | grads in0 in1"},
    {.name = "MatMulInteger",
     .traits = OpRow::kQuantised | OpRow::kOneType,
     .since = 10,
     .inputs = 2,
     .shape = matmul_integer,
     .lower = lower::integer_product,
     .example = "u8[B,4] u8[4,16] -> i32[B,16] | flop 128*B"},
    {.name = "QLinearMatMul",
     .traits = OpRow::kQuantised,
     .since = 10,
     .inputs = 8,
     .shape = qlinear_matmul,
     .lower = lower::integer_product,
     .example = "u8[B,4] f32[] u8[] u8[4,16] f32[] u8[] f32[] u8[] -> u8[B,16] | flop 128*B"},
};

}  // namespace

std::span<const OpRow> matmul_rows() { return kMatmulRows; }

}  // namespace plimsoll::ops
