#include "graph/eager/autocast.h"
#include "graph/eager/float8.h"
#include "graph/eager/gemm.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {

void launch_gemm(Machine& m, const Value& a, const Value& b, const Value& c, const Dim& batch,
                 const Dim& rows, const Dim& columns, const Dim& inner, bool accumulate) {
  const size_t ra = a.rank();
  const size_t rb = b.rank();
  GemmProblem<Dim> problem{.m = rows, .n = columns, .k = inner, .batch = batch};
  // One factor for the whole batch is one product: torch.nn.MultiheadAttention's inference and the
  // libraries' strided products both read it once.
  Dim factors = a.bytes() + b.bytes();
  if (b.rank() == 3 && m.decider().equal(b.strides()[0], 0)) {
    problem.m = batch * rows;
    problem.batch = 1;
    factors = a.bytes() + inner * columns * Dim(std::max(bits(b.dtype()), 8) / 8);
  }
  // An operand whose inner stride is not 1 is stored the other way round.
  problem.a_t = a.on_device() && a.strides()[ra - 1] != Dim(1) && a.strides()[ra - 2] == Dim(1);
  problem.b_t = b.on_device() && b.strides()[rb - 1] != Dim(1) && b.strides()[rb - 2] == Dim(1);
  problem.accumulate = accumulate;
  Kernel kernel{.kernel_class = KernelClass::kGemm,
                .pass = m.pass(),
                .dtype = a.dtype(),
                .tensor_core = m.tensor_core_matmuls(a.dtype()),
                .op = "gemm",
                .flop = Dim(2) * batch * rows * columns * inner,
                .read = std::move(factors),
                .written = c.bytes(),
                .problem = problem};
  if (accumulate) return m.launch(std::move(kernel), {&a, &b, &c}, {&c});
  m.launch(std::move(kernel), {&a, &b}, {&c});
}

namespace {

// a^T of the last two dimensions, outside autograd.
Value flipped(Machine& m, const Value& a) {
  return transpose(m, a.detached(), a.rank() - 2, a.rank() - 1);
}

// Gradient of an operand with the operand's own memory order, so that no copy follows: a
// column-major operand gets the transpose of the transposed product.
Value product_like(Machine& m, const Value& operand, const Value& left, const Value& right,
                   Value (*multiply)(Machine&, const Value&, const Value&)) {
  const size_t r = operand.rank();
  const bool column_major = operand.strides()[r - 2] == Dim(1) &&
                            operand.strides()[r - 1] != Dim(1) &&
                            operand.strides()[r - 1] == operand.sizes()[r - 2];
  if (r == 2 && column_major) return flipped(m, multiply(m, flipped(m, right), flipped(m, left)));
  return multiply(m, left, right);
}

Backward product_backward(Value (*multiply)(Machine&, const Value&, const Value&),
                          size_t first_operand) {
  return [multiply, first_operand](Machine& m, const Gradients& g, const GradNode& n) {
    Gradients out(first_operand + 2);
    if (first_operand == 1 && n.needs(0)) out[0] = g[0];
    const Value& a = n.saved(0);
    const Value& b = n.saved(1);
    // The layouts are needed even where the operand itself was not kept.
    const auto& edge_a = n.edges[first_operand];
    const auto& edge_b = n.edges[first_operand + 1];
    if (n.needs(first_operand)) {
      out[first_operand] =
          product_like(m, Value(edge_a.input, nullptr), g[0], flipped(m, b), multiply);
    }
    if (n.needs(first_operand + 1)) {
      out[first_operand + 1] =
          product_like(m, Value(edge_b.input, nullptr), flipped(m, a), g[0], multiply);
    }
    return out;
  };
}

// Each factor is kept where the other one needs its gradient.
std::vector<Kept> kept_factors(const Value& a, const Value& b, std::string_view rule) {
  std::vector<Kept> kept(2);
  if (b.requires_grad()) kept[0] = {a, rule};
  if (a.requires_grad()) kept[1] = {b, rule};
  return kept;
}

// A product that a checkpoint by operator may keep.
Value product_kept(Machine& m, bool turns, const std::function<Value()>& make) {
  return m.kept_results(turns, [&] { return std::vector<Value>{make()}; }).front();
}

}  // namespace

Value mm(Machine& m, const Value& left, const Value& right) {
  const Value a = to_autocast(m, left);
  const Value b = to_autocast(m, right);
  Value c = product_kept(m, true, [&] {
    const Value made = m.allocate(a.dtype(), {a.sizes()[0], b.sizes()[1]});
    launch_gemm(m, a, b, made, 1, a.sizes()[0], b.sizes()[1], a.sizes()[1], false);
    return made;
  });
  const Value inputs[] = {a, b};
  if (m.tracks(inputs)) {
    m.record(c, inputs, kept_factors(a, b, "matrix product keeps its factors"),
             product_backward(mm, 0));
  }
  return c;
}

Value bmm(Machine& m, const Value& left, const Value& right) {
  const Value a = to_autocast(m, left);
  const Value b = to_autocast(m, right);
  Value c = product_kept(m, false, [&] {
    const Value made = m.allocate(a.dtype(), {a.sizes()[0], a.sizes()[1], b.sizes()[2]});
    launch_gemm(m, a, b, made, a.sizes()[0], a.sizes()[1], b.sizes()[2], a.sizes()[2], false);
    return made;
  });
  const Value inputs[] = {a, b};
  if (m.tracks(inputs)) {
    m.record(c, inputs, kept_factors(a, b, "batched matrix product keeps its factors"),
             product_backward(bmm, 0));
  }
  return c;
}

Value addmm(Machine& m, const Value& added, const Value& left, const Value& right) {
  const Value bias = to_autocast(m, added);
  const Value a = to_autocast(m, left);
  const Value b = to_autocast(m, right);
  Value c = product_kept(m, false, [&] {
    const Value made = m.allocate(a.dtype(), {a.sizes()[0], b.sizes()[1]});
    launch_gemm(m, a, b, made, 1, a.sizes()[0], b.sizes()[1], a.sizes()[1], true);
    return made;
  });
  const Value inputs[] = {bias, a, b};
  if (m.tracks(inputs)) {
    m.record(c, inputs, kept_factors(a, b, "linear keeps its input and weight"),
             product_backward(mm, 1));
  }
  return c;
}

// Rank 2: one addmm. Contiguous and higher: the same on a flattened view. Otherwise matmul (which
// folds by reshape, hence copies) and an addition in place.
Value linear(Machine& m, const Value& given, const Value& weight, const Value& added) {
  const Value x = to_autocast(m, given);
  if (in_float8(m, x, weight)) return float8_linear(m, x, weight, added);
  const Value w = transpose(m, to_autocast(m, weight), 0, 1);
  const Value bias = to_autocast(m, added);
  if (x.rank() == 2) return bias.defined() ? addmm(m, bias, x, w) : mm(m, x, w);
  Shape out = x.sizes();
  out.back() = weight.sizes()[0];
  if (bias.defined() && x.contiguous()) {
    const Value flat = view(m, x, {floor_div(x.count(), x.sizes().back()), x.sizes().back()});
    return view(m, addmm(m, bias, flat, w), out);
  }
  Value y = matmul(m, x, w);
  if (!bias.defined()) return y;
  m.launch_rows(KernelClass::kPointwise, "bias", y.count(), {&y, &bias}, {&y});
  Value sum = y.detached();
  const Value inputs[] = {y, bias};
  m.record(sum, inputs, {}, [](Machine&, const Gradients& g, const GradNode& n) {
    Gradients gradients(2);
    for (size_t i = 0; i < 2; ++i) {
      if (n.needs(i)) gradients[i] = g[0];
    }
    return gradients;
  });
  return sum;
}

// Priced as one product that reads all matrices.
Value grouped_linear(Machine& m, const Value& given, const Value& matrices, const Value& offsets) {
  const Value x = to_autocast(m, given);
  const Value weight = to_autocast(m, matrices);
  const Shape& w = weight.sizes();
  const Value joined({contiguous_layout(weight.dtype(), {w[0] * w[1], w[2]})}, weight.storage());
  Value y = m.allocate(x.dtype(), {x.sizes()[0], w[1]});
  launch_gemm(m, x, transpose(m, joined, 0, 1), y, 1, x.sizes()[0], w[1], w[2], false);
  const Value inputs[] = {x, weight};
  std::vector<Kept> kept = kept_factors(x, weight, "grouped products keep their factors");
  if (offsets.defined()) kept.push_back({offsets, "grouped products keep where groups end"});
  m.record(y, inputs, std::move(kept), [](Machine& mm, const Gradients& g, const GradNode& n) {
    Gradients out(2);
    const Shape& y_sizes = g[0].sizes();
    if (n.needs(0)) {
      const Shape& sizes = n.edges[0].input->sizes;
      out[0] = mm.allocate(g[0].dtype(), sizes);
      launch_gemm(mm, g[0], n.saved(1), out[0], 1, sizes[0], sizes[1], y_sizes[1], false);
    }
    if (n.needs(1)) {
      const Layout& layout = *n.edges[1].input;
      const Shape& sizes = layout.sizes;
      out[1] = mm.allocate(dense_like(layout, g[0].dtype(), mm.decider()));
      launch_gemm(mm, g[0], n.saved(0), out[1], 1, sizes[1], sizes[2], y_sizes[0], false);
    }
    return out;
  });
  return y;
}

Value group_offsets(Machine& m, const Value& sorted, const Dim& groups) {
  const Value narrow = cast(m, sorted, DType::kInt32);
  const Value counts = m.allocate(DType::kInt32, {groups});
  m.launch_rows(KernelClass::kScatter, "histc", 0, {&narrow}, {&counts});
  Value ends = m.allocate(DType::kInt32, {groups});
  m.launch_rows(KernelClass::kReduce, "cumsum", 0, {&counts}, {&ends});
  return ends;
}

namespace {

// Folding the larger operand into a matrix is free, or saves a huge weight gradient
// (ATen/native/LinearAlgebra.cpp should_fold).
bool should_fold(Machine& m, const Value& a, const Value& b) {
  const bool first_larger = a.rank() >= b.rank();
  const Value& large = first_larger ? a : b;
  const Value& small = first_larger ? b : a;
  if (!(large.rank() >= 3 && small.rank() <= 2)) return false;
  if (small.requires_grad()) return true;
  if (a.rank() == 2) return false;
  for (size_t i = 0; i + 2 < large.rank(); ++i) {
    if (!m.decider().equal(large.strides()[i], large.strides()[i + 1] * large.sizes()[i + 1]))
      return false;
  }
  return true;
}

Value folded(Machine& m, const Value& a, const Value& b) {
  const bool first_larger = a.rank() >= b.rank();
  const Value large = first_larger ? a : transpose(m, b, b.rank() - 2, b.rank() - 1);
  Value small = first_larger ? b : a;
  if (!first_larger && small.rank() == 2) small = transpose(m, small, 0, 1);
  Shape out = large.sizes();
  out.pop_back();
  const Value flat = reshape(m, large, {elements(out), large.sizes().back()});
  if (small.rank() == 1) small = unsqueeze(m, small, 1);
  const bool vector = (first_larger ? b : a).rank() == 1;
  Value c = mm(m, flat, small);
  if (!vector) out.push_back(small.sizes()[1]);
  c = unsafe_view(m, c, out);
  if (first_larger || vector) return c;
  return contiguous(m, transpose(m, c, c.rank() - 2, c.rank() - 1));
}

}  // namespace

Value matmul(Machine& m, const Value& first, const Value& second) {
  const Value a = to_autocast(m, first);
  const Value b = to_autocast(m, second);
  if (!a.on_device() && !b.on_device()) return m.host(a.dtype(), {});
  if (a.rank() == 2 && b.rank() == 2) return mm(m, a, b);
  if (a.rank() == 1 && b.rank() == 1) {
    return view(m, mm(m, unsqueeze(m, a, 0), unsqueeze(m, b, 1)), {});
  }
  if (a.rank() == 1 && b.rank() == 2) return squeeze(m, mm(m, unsqueeze(m, a, 0), b), {0});
  if (a.rank() == 2 && b.rank() == 1) return squeeze(m, mm(m, a, unsqueeze(m, b, 1)), {1});
  if (should_fold(m, a, b)) return folded(m, a, b);
  const Value left = a.rank() == 1 ? unsqueeze(m, a, 0) : a;
  const Value right = b.rank() == 1 ? unsqueeze(m, b, 1) : b;
  const auto leading = [](const Value& v) { return Shape(v.sizes().begin(), v.sizes().end() - 2); };
  Shape batch = leading(left);
  if (auto joined = broadcast(leading(left), leading(right), m.decider())) batch = *joined;
  const Dim count = elements(batch);
  const auto stacked = [&](const Value& v) {
    Shape sizes = batch;
    sizes.insert(sizes.end(), v.sizes().end() - 2, v.sizes().end());
    const Shape flat{count, v.sizes()[v.rank() - 2], v.sizes().back()};
    return reshape(m, expand(m, v, sizes), flat);
  };
  const Value c = bmm(m, stacked(left), stacked(right));
  Shape out = batch;
  if (a.rank() > 1) out.push_back(left.sizes()[left.rank() - 2]);
  if (b.rank() > 1) out.push_back(right.sizes().back());
  return unsafe_view(m, c, out);
}

}  // namespace plimsoll::eager
