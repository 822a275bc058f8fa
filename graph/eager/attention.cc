#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// Scaled q and k, their product, mask, softmax, dropout, product with v.
Value separate(Machine& m, const Value& q, const Value& k, const Value& v, const Value& mask,
               const AttentionOptions& options) {
  const Value number = m.host(q.dtype(), {});
  const Value scaled_q = options.scaled ? mul(m, q, number) : q;
  const Value flipped = transpose(m, k, k.rank() - 2, k.rank() - 1);
  const Value scaled_k = options.scaled ? mul(m, flipped, number) : flipped;
  Value scores = matmul(m, scaled_q, scaled_k);
  if (mask.defined() || options.causal) scores = add(m, scores, mask.defined() ? mask : number);
  Value weights = softmax(m, scores, scores.rank() - 1);
  if (options.dropout > 0) weights = dropout(m, weights);
  return matmul(m, weights, v);
}

Shape with_last(const Shape& leading_of, const Dim& rows, const Dim& columns) {
  Shape sizes(leading_of.begin(), leading_of.end() - 2);
  sizes.push_back(rows);
  sizes.push_back(columns);
  return sizes;
}

}  // namespace

Value attention(Machine& m, const Value& q, const Value& k, const Value& v, const Value& mask,
                const AttentionOptions& options) {
  const size_t r = q.rank();
  if (!m.policy().attention || r != 4) return separate(m, q, k, v, mask, options);
  const Dim& batch = q.sizes()[0];
  const Dim& heads = q.sizes()[1];
  const Dim& queries = q.sizes()[2];
  const Dim& keys = k.sizes()[2];
  AttentionProblem<Dim> p{.form = *m.policy().attention,
                          .batch = batch,
                          .heads = heads,
                          .kv_heads = k.sizes()[1],
                          .queries = queries,
                          .keys = keys,
                          .head_size = q.sizes()[3],
                          .value_size = v.sizes()[3],
                          .causal = options.causal,
                          .masked = mask.defined(),
                          .dropout = options.dropout > 0};
  const bool tracked = [&] {
    const Value inputs[] = {q, k, v};
    return m.tracks(inputs);
  }();
  // A mask whose rows do not lie in memory one after the other is copied at every call.
  Value used_mask = mask;
  if (mask.defined() && mask.on_device() && mask.strides().back() != Dim(1))
    used_mask = clone(m, mask);
  // [N,S,H,D] in memory, seen as [N,H,S,D].
  Value out = m.allocate(q.dtype(), {batch, queries, heads, v.sizes()[3]});
  const Dim flop = Dim(2) * batch * heads * queries * keys * (q.sizes()[3] + v.sizes()[3]);
  Dim row_padding = m.policy().attention_row_padding;
  const Dim padded = ceil_div(queries, row_padding) * row_padding;
  std::vector<Kept> kept;
  const Value seen =
      m.view_of(out, strided_layout(q.dtype(), with_last(q.sizes(), queries, v.sizes()[3]),
                                    {out.strides()[0], out.strides()[2], out.strides()[1], Dim(1)},
                                    m.decider()));
  if (tracked) {
    const Value row_sums = m.allocate(DType::kFloat32, {batch, heads, padded});
    const Value seed = m.allocate(DType::kInt64, {});
    const Value offset = m.allocate(DType::kInt64, {});
    kept = {{q, "attention keeps its queries"},
            {k, "attention keeps its keys"},
            {v, "attention keeps its values"},
            {seen, "attention keeps its result"},
            {row_sums, "attention keeps the log of its row sums"},
            {seed, "attention keeps its random state"},
            {offset, "attention keeps its random state"}};
    if (used_mask.defined()) kept.push_back({used_mask, "attention keeps its mask"});
  }
  const auto launch = [p, flop](Machine& mm, Pass pass, const Dim& bytes_read,
                                const Dim& bytes_written, DType dtype, int64_t factor) {
    mm.launch({.kernel_class = KernelClass::kAttention,
               .pass = pass,
               .dtype = dtype,
               .tensor_core = mm.tensor_core_matmuls(),
               .op = "attention",
               .flop = floor_div(flop * Dim(factor), 2),
               .read = bytes_read,
               .written = bytes_written,
               .problem = p});
  };
  launch(m, Pass::kForward, q.bytes() + k.bytes() + v.bytes(), out.bytes(), q.dtype(), 2);
  Value result = seen;
  const Value inputs[] = {q, k, v, mask};
  m.record(result, inputs, std::move(kept),
           [launch](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out_gradients(4);
             const Dim operands = n.saved(0).bytes() + n.saved(1).bytes() + n.saved(2).bytes();
             for (size_t i = 0; i < 3; ++i) {
               const Value& operand = n.saved(i);
               const Shape& s = operand.sizes();
               const Value memory = mm.allocate(operand.dtype(), {s[0], s[2], s[1], s[3]});
               out_gradients[i] = transpose(mm, memory, 1, 2);
             }
             if (n.needs(3)) {
               const Shape scores{n.saved(0).sizes()[0], n.saved(0).sizes()[1],
                                  n.saved(0).sizes()[2], n.saved(1).sizes()[2]};
               out_gradients[3] = mm.allocate(n.saved(0).dtype(), scores);
             }
             // Five products against the forward's two.
             launch(mm, Pass::kBackward, operands + Dim(2) * g[0].bytes(), operands, g[0].dtype(),
                    5);
             return out_gradients;
           });
  return result;
}

}  // namespace plimsoll::eager
