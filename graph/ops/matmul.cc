// Matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <map>

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
  auto shape = product_shape(c, c.shape(0), c.shape(right));
  if (!shape) return tl::unexpected(shape.error());
  c.set(0, out, std::move(*shape));
  return {};
}

Result<void> matmul(InferContext& c) { return matmul_of(c, 1, c.dtype(0)); }
Result<void> matmul_integer(InferContext& c) { return matmul_of(c, 1, DType::kInt32); }
// a, its scale and zero point, b, its scale and zero point, y's scale and zero point.
Result<void> qlinear_matmul(InferContext& c) { return matmul_of(c, 3, c.dtype(7)); }

Result<void> fused_matmul(InferContext& c) {
  Shape a = c.shape(0);
  Shape b = c.shape(1);
  if (c.attributes().integer("transA", 0) != 0 && a.size() > 1) std::swap(a.back(), a.end()[-2]);
  if (c.attributes().integer("transB", 0) != 0 && b.size() > 1) std::swap(b.back(), b.end()[-2]);
  auto shape = product_shape(c, std::move(a), std::move(b));
  if (!shape) return tl::unexpected(shape.error());
  c.set(0, c.dtype(0), std::move(*shape));
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
    const auto sum = broadcast_two(c, out, c.shape(2));
    if (!sum) return tl::unexpected(sum.error());
    if (sum->size() != 2) return c.fail("E251", "the bias has more dimensions than the product");
  }
  c.set(0, c.dtype(0), out);
  return {};
}

// One operand's labels as positions: letters, and for "..." the broadcast dimensions, named by
// digits counted from the right.
Result<std::string> spelled(InferContext& c, std::string_view labels, size_t rank) {
  const size_t dots = labels.find("...");
  const size_t letters = labels.size() - (dots == std::string_view::npos ? 0 : 3);
  if (letters > rank || (dots == std::string_view::npos && letters != rank) || rank - letters > 9) {
    return c.fail("E247", fmt::format("'{}' does not label a tensor of rank {}", labels, rank));
  }
  std::string out;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (i == dots) {
      for (size_t d = rank - letters; d > 0; --d) out += static_cast<char>('0' + d);
      i += 2;
    } else {
      out += labels[i];
    }
  }
  return out;
}

struct Equation {
  std::vector<std::string> operands;
  std::optional<std::string> result;
};

Equation split_equation(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  Equation equation;
  if (const size_t arrow = text.find("->"); arrow != std::string::npos) {
    equation.result = text.substr(arrow + 2);
    text.resize(arrow);
  }
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    equation.operands.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return equation;
}

// Without an arrow: the broadcast dimensions, then letters that occur once, in alphabetical order.
std::string implied_result(const std::map<char, Dim>& extents, const std::string& all) {
  std::string broadcast, once;
  for (const auto& [label, extent] : extents) {
    if (label >= '0' && label <= '9') {
      broadcast.insert(broadcast.begin(), label);
    } else if (std::count(all.begin(), all.end(), label) == 1) {
      once += label;
    }
  }
  return broadcast + once;
}

Result<void> einsum(InferContext& c) {
  const auto* text = c.attributes().get<std::string>("equation");
  if (!text) return c.fail("E247", "attribute 'equation' is missing");
  const Equation equation = split_equation(*text);
  if (equation.operands.size() != c.inputs()) {
    return c.fail("E247", fmt::format("equation '{}' has {} operands, the node has {}", *text,
                                      equation.operands.size(), c.inputs()));
  }
  std::map<char, Dim> extents;
  std::string all;
  size_t broadcast_rank = 0;
  for (size_t i = 0; i < c.inputs(); ++i) {
    if (!c.has(i)) return c.fail("E253", fmt::format("input {} is missing", i));
    const auto labels = spelled(c, equation.operands[i], c.rank(i));
    if (!labels) return tl::unexpected(labels.error());
    all += *labels;
    for (size_t d = 0; d < labels->size(); ++d) {
      const char label = (*labels)[d];
      const auto [at, fresh] = extents.try_emplace(label, c.shape(i)[d]);
      if (label >= '0' && label <= '9') {
        broadcast_rank = std::max(broadcast_rank, static_cast<size_t>(label - '0'));
      }
      if (fresh) continue;
      const auto joined = broadcast_two(c, {at->second}, {c.shape(i)[d]});
      if (!joined) return tl::unexpected(joined.error());
      at->second = joined->front();
    }
  }
  std::string result = implied_result(extents, all);
  if (equation.result) {
    const size_t letters =
        equation.result->size() - (equation.result->find("...") == std::string::npos ? 0 : 3);
    const bool dots = letters != equation.result->size();
    auto labels = spelled(c, *equation.result, letters + (dots ? broadcast_rank : 0));
    if (!labels) return tl::unexpected(labels.error());
    result = std::move(*labels);
  }
  Shape shape;
  for (const char label : result) {
    const auto at = extents.find(label);
    if (at == extents.end()) {
      return c.fail("E247", fmt::format("equation '{}' produces a label no operand has", *text));
    }
    shape.push_back(at->second);
  }
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

constexpr OpRow kRows[] = {
    {.name = "Det",
     .since = 11,
     .shape = det,
     .lower = lower::keep_inputs,
     .example = "f32[B,4,4] -> f32[B]"},
    {.name = "Einsum",
     .since = 12,
     .shape = einsum,
     .lower = lower::einsum,
     .example = "f32[B,H,S,64] f32[B,H,T,64] {equation=\"bhid,bhjd->bhij\"} -> f32[B,H,S,T]"},
    {.name = "FusedGemm",
     .domain = "com.microsoft",
     .inputs = 2,
     .shape = gemm,
     .lower = lower::gemm,
     .example = "f32[B,4] f32[4,16] f32[16] {activation=\"Relu\"} -> f32[B,16]"},
    {.name = "FusedMatMul",
     .domain = "com.microsoft",
     .inputs = 2,
     .shape = fused_matmul,
     .lower = lower::matmul,
     .example = "f32[B,8,S,64] f32[B,8,S,64] {transB=1, alpha=0.125} -> f32[B,8,S,S]"},
    {.name = "Gemm",
     .inputs = 2,
     .shape = gemm,
     .lower = lower::gemm,
     .example = "f32[B,4] f32[16,4] f32[16] {transB=1} -> f32[B,16]"},
    {.name = "MatMul",
     .inputs = 2,
     .shape = matmul,
     .lower = lower::matmul,
     .example = "f32[B,S,4] f32[4,16] -> f32[B,S,16]"},
    {.name = "MatMulInteger",
     .since = 10,
     .inputs = 2,
     .shape = matmul_integer,
     .lower = lower::no_gradient,
     .example = "u8[B,4] u8[4,16] -> i32[B,16]"},
    {.name = "QLinearMatMul",
     .since = 10,
     .inputs = 8,
     .shape = qlinear_matmul,
     .lower = lower::no_gradient,
     .example = "u8[B,4] f32[] u8[] u8[4,16] f32[] u8[] f32[] u8[] -> u8[B,16]"},
};

}  // namespace

std::span<const OpRow> matmul_rows() { return kRows; }

}  // namespace plimsoll::ops
