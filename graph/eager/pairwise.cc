// Functions of all pairs of two operands' elements or rows: distances, the bilinear layer. Each is
// one operator of ATen with a formula of its own (tools/autograd/derivatives.yaml, _cdist_forward,
// _euclidean_dist, _trilinear).
#include "graph/eager/autocast.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

Value like(Machine& m, const Value& x) { return m.allocate(x.dtype(), x.sizes()); }

void launch_product(Machine& m, const GemmProblem<Dim>& problem,
                    std::initializer_list<const Value*> read, const Value& written) {
  Kernel kernel{.kernel_class = KernelClass::kGemm,
                .pass = m.pass(),
                .dtype = written.dtype(),
                .tensor_core = m.tensor_core_matmuls(written.dtype()),
                .op = "matmul",
                .flop = Dim(2) * problem.m * problem.n * problem.k * problem.batch,
                .written = written.bytes(),
                .problem = problem};
  for (const Value* x : read) kernel.read += x->bytes();
  m.launch(std::move(kernel), read, {&written});
}

// Rows of x weighed and added up, for each row of `weights`; and the formula's own pieces.
Value pull(Machine& m, const Value& weights, const Value& x, const Value& other, size_t axis,
           std::vector<Value>& pieces) {
  Shape sizes(weights.sizes().begin(), weights.sizes().end() - 2);
  sizes.insert(sizes.end(), x.sizes().end() - 2, x.sizes().end());
  const Value product = m.allocate(x.dtype(), sizes);
  const Dim rows = sizes[sizes.size() - 2];
  const Dim pairs = weights.sizes()[weights.rank() - 1] * weights.sizes()[weights.rank() - 2];
  launch_product(m,
                 {.m = rows,
                  .n = sizes.back(),
                  .k = floor_div(pairs, rows),
                  .batch = floor_div(weights.count(), pairs)},
                 {&weights, &other}, product);
  Shape sums = weights.sizes();
  sums[axis] = 1;
  const Value sum = m.allocate(x.dtype(), sums);
  m.launch_rows(KernelClass::kReduce, "sum", weights.count(), {&weights}, {&sum}, sum.count());
  const Value parts[] = {x, product};
  const Value scaled = elementwise(m, "mul", parts, x.dtype());
  pieces.insert(pieces.end(), {product, sum, scaled});
  return elementwise(m, "sub", parts, x.dtype());
}

}  // namespace

Value distances(Machine& m, const Value& left, const Value& right, const Shape& out_sizes) {
  const Value a = contiguous(m, to_single(m, left));
  const Value b = contiguous(m, to_single(m, right));
  Value y = m.allocate(a.dtype(), out_sizes);
  const Dim flop = Dim(3) * y.count() * a.sizes().back();
  m.launch_rows(KernelClass::kPointwise, "cdist", flop, {&a, &b}, {&y});
  const Value inputs[] = {a, b};
  m.record(y, inputs,
           {{a, "distances keep their points"},
            {b, "distances keep their points"},
            {y, "distances keep their result"}},
           [flop](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out(2);
             const Value gradient = contiguous(mm, g[0]);
             std::vector<Value> flipped;
             for (size_t i = 0; i < 2; ++i) {
               if (!n.needs(i)) continue;
               if (i == 1) flipped = {like(mm, gradient), like(mm, n.saved(2))};
               out[i] = like(mm, n.saved(i));
               mm.launch_rows(KernelClass::kPointwise, "cdist", flop,
                              {&gradient, &n.saved(0), &n.saved(1)}, {&out[i]});
             }
             return out;
           });
  return y;
}

// ratio = grad / y; the gradient of a is a * ratio.sum(-1) - ratio b, that of b its mirror image.
Value euclidean_distances(Machine& m, const Value& left, const Value& right,
                          const Shape& out_sizes) {
  const Value a = to_single(m, left);
  const Value b = to_single(m, right);
  Value y = m.allocate(a.dtype(), out_sizes);
  const Dim& rows = out_sizes[out_sizes.size() - 2];
  launch_product(m,
                 {.m = rows,
                  .n = out_sizes.back(),
                  .k = a.sizes().back() + Dim(2),
                  .batch = floor_div(y.count(), rows * out_sizes.back())},
                 {&a, &b}, y);
  const Value inputs[] = {a, b};
  m.record(y, inputs,
           {{a, "distances keep their points"},
            {b, "distances keep their points"},
            {y, "distances keep their result"}},
           [](Machine& mm, const Gradients& g, const GradNode& n) {
             const Value& result = n.saved(2);
             const Value parts[] = {g[0], result};
             const Value ratio = elementwise(mm, "div", parts, result.dtype());
             const Value kept[] = {result};
             map(mm, "equal", kept, DType::kBool);
             std::vector<Value> pieces;
             const size_t last = ratio.rank() - 1;
             const Value da = pull(mm, ratio, n.saved(0), n.saved(1), last, pieces);
             const Value db = pull(mm, ratio, n.saved(1), n.saved(0), last - 1, pieces);
             return Gradients{da, db};
           });
  return y;
}

Value bilinear(Machine& m, const Value& left, const Value& right, const Value& given) {
  const Value weight = to_autocast(m, given);
  const auto rows = [&m](const Value& x) {
    return reshape(m, x, {floor_div(x.count(), x.sizes().back()), x.sizes().back()});
  };
  const Value a = rows(to_autocast(m, left));
  const Value b = rows(to_autocast(m, right));
  const Dim out = floor_div(weight.sizes()[1], b.sizes()[1]);
  Value y = m.allocate(a.dtype(), {a.sizes()[0], out});
  const GemmProblem<Dim> problem{
      .m = a.sizes()[0], .n = weight.sizes()[1], .k = weight.sizes()[0], .batch = 1};
  launch_product(m, problem, {&a, &weight, &b}, y);
  const Value inputs[] = {a, weight, b};
  m.record(y, inputs,
           {{a, "a bilinear layer keeps its inputs"},
            {weight, "a bilinear layer keeps its weight"},
            {b, "a bilinear layer keeps its inputs"}},
           [problem](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients all;
             for (size_t i = 0; i < 3; ++i) {
               all.push_back(like(mm, n.saved(i)));
               launch_product(mm, problem,
                              {&g[0], &n.saved(i == 0 ? 1 : 0), &n.saved(i == 2 ? 1 : 2)}, all[i]);
             }
             return all;
           });
  Shape sizes = left.sizes();
  sizes.back() = out;
  return reshape(m, y, sizes);
}

}  // namespace plimsoll::eager
