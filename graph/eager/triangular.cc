#include "graph/eager/triangular.h"

#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// Priced as the product of the matrix, half of which is zeros, and the right side.
Value solved(Machine& m, const Value& a, const Value& b) {
  const size_t rank = b.rank();
  const Dim &rows = b.sizes()[rank - 2], &columns = b.sizes()[rank - 1];
  Shape sizes = b.sizes();
  std::swap(sizes[rank - 2], sizes[rank - 1]);
  Shape strides = m.contiguous(b.dtype(), sizes)->strides;
  std::swap(strides[rank - 2], strides[rank - 1]);
  Value x = m.allocate(strided_layout(b.dtype(), b.sizes(), std::move(strides), m.decider()));
  const Dim batch = floor_div(b.count(), rows * columns);
  m.launch_tensors(KernelClass::kGemm, "solve_triangular", b.count() * rows, {&a, &b}, {&x},
                   GemmProblem<Dim>{.m = rows, .n = columns, .k = rows, .batch = batch});
  return x;
}

}  // namespace

// FunctionsManual.cpp, linalg_solve_triangular_backward: that of b solves with the transposed
// matrix; that of a is the lower triangle of -G x^T.
Value solve_triangular(Machine& m, const Value& a, const Value& b) {
  Value x = solved(m, a, b);
  const Value inputs[] = {a, b};
  m.record(x, inputs,
           {{a, "solve_triangular keeps its matrix"}, {x, "solve_triangular keeps its result"}},
           [](Machine& mm, const Gradients& g, const GradNode& n) {
             const size_t last = g[0].rank() - 1;
             Gradients out(2);
             const Value of_b = solved(mm, transpose(mm, n.saved(0), last - 1, last), g[0]);
             if (n.needs(0)) {
               const Value x_transposed = transpose(mm, n.saved(1), last - 1, last);
               const auto same = [&](const char* op, const Value& v) {
                 return elementwise(mm, op, {&v, 1}, v.dtype());
               };
               out[0] = same("neg", matmul(mm, of_b, x_transposed));
               out[0] = same("tril", out[0]);
             }
             if (n.needs(1)) out[1] = of_b;
             return out;
           });
  return x;
}

}  // namespace plimsoll::eager
