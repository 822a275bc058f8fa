// What transformers' code does around and in place of PyTorch's attention operator.
#include "graph/eager/attention_form.h"
#include "graph/eager/autocast.h"

namespace plimsoll::eager {
namespace {

// sdpa_attention.py, use_gqa_in_sdpa(): wider heads fall back to separate products.
constexpr int64_t kWidestGroupedHead = 256;

bool is_masked(Machine& m, const AttentionOperands& o, const AttentionOptions& options) {
  if (options.masked) return true;
  if (options.window == 0) return false;
  return !m.decider().less(o.k.sizes()[2], Dim(options.window));
}

// Bloom's (modeling_bloom.py, BloomAttention): each head of each sample is a matrix of its own, and
// alibi is in the product.
Value attention_by_rows(Machine& m, const AttentionOperands& o, const AttentionOptions& options) {
  const Shape q = o.q.sizes(), k = o.k.sizes();
  const Dim heads = q[0] * q[1];
  const auto rows = [&](const Value& x) {
    return reshape(m, x, {heads, x.sizes()[2], x.sizes()[3]});
  };
  const Value queries = rows(o.q), keys = transpose(m, rows(o.k), 1, 2), values = rows(o.v);
  Value scores = view(m, bmm(m, queries, keys), {q[0], q[1], q[2], k[2]});
  scores = add(m, scores, m.host(scores.dtype(), {}));
  Value weights = softmax(m, cast(m, scores, DType::kFloat32), 3);
  scores = {};
  weights = cast(m, weights, o.q.dtype());
  if (options.dropout > 0) weights = dropout(m, weights);
  if (options.weights) *options.weights = weights;
  return view(m, bmm(m, view(m, weights, {heads, q[2], k[2]}), values), q);
}

// Samples that are attended each by itself are matrices where they lie; one product of all would
// copy them first.
Value where_it_lies(Machine& m, const Value& x) {
  if (!x.on_device()) return x;
  Value y = m.view_of(x, contiguous_layout(x.dtype(), x.sizes()));
  const Value inputs[] = {x};
  m.record(y, inputs, {},
           [](Machine&, const Gradients& g, const GradNode&) { return Gradients{g[0]}; });
  return y;
}

Value less_largest(Machine& m, const Value& scores) {
  return add(m, scores, reduce(m, "max", scores, {3}, true, Reduction::kIndices), "sub");
}

// A column of sinks joined to the scores (modeling_gpt_oss.py, eager_attention_forward()).
Value with_sinks(Machine& m, const Value& scores, const Value& sinks) {
  const Shape& s = scores.sizes();
  const Value columns = view(m, sinks, {Dim(1), s[1], Dim(1), Dim(1)});
  const Value parts[] = {scores, expand(m, columns, {s[0], s[1], s[2], Dim(1)})};
  return less_largest(m, concat(m, parts, 3));
}

}  // namespace

// repeat_kv(): expand and reshape, which copies, but of one head is a view.
Value repeated_heads(Machine& m, const Value& few, const Value& q) {
  if (few.rank() != 4 || q.rank() != 4 || few.sizes()[1] == q.sizes()[1]) return few;
  Shape sizes = few.sizes();
  sizes[1] = q.sizes()[1];
  if (few.sizes()[1] == Dim(1)) return expand(m, few, sizes);
  return rearrange(m, "repeat", few, sizes);
}

Value attention_in_operators(Machine& m, const AttentionOperands& o,
                             const AttentionOptions& options) {
  if (options.by_rows) return attention_by_rows(m, o, options);
  const auto each = [&](const Value& x) { return options.apart ? where_it_lies(m, x) : x; };
  const Value k = each(options.grouped ? repeated_heads(m, o.k, o.q) : o.k);
  const Value v = each(options.grouped ? repeated_heads(m, o.v, o.q) : o.v);
  const auto read = [&](const Value& x) {
    return options.wide_scores ? cast(m, x, DType::kFloat32) : x;
  };
  Value scores = matmul(m, read(each(o.q)), transpose(m, read(k), 2, 3));
  const Value number = m.host(scores.dtype(), {});
  if (options.scaled) scores = mul(m, scores, number);
  if (options.softcap) {
    scores = div(m, scores, number);
    scores = unary(m, "tanh", scores, Keeps::kResult, "tanh keeps its result");
    scores = mul(m, scores, number);
  }
  if (options.alibi.defined())
    scores = add(m, scores, slice(m, options.alibi, 2, 0, k.sizes()[2], 1));
  const bool filled = o.mask.defined() && o.mask.dtype() == DType::kBool;
  if (filled) scores = where(m, o.mask, number, scores);
  if (o.mask.defined() && !filled) scores = add(m, scores, o.mask);
  if (!filled && (options.causal || options.window > 0 || options.masked))
    scores = add(m, scores, number);
  if (options.sinks.defined()) {
    scores = with_sinks(m, scores, options.sinks);
  } else if (options.shifted) {
    scores = less_largest(m, scores);
  }
  const DType type = v.dtype();
  if (options.wide_softmax) scores = cast(m, scores, DType::kFloat32);
  Value weights = softmax(m, scores, scores.rank() - 1);
  scores = {};
  if (options.wide_softmax || options.wide_scores) weights = cast(m, weights, type);
  if (options.sinks.defined()) weights = slice(m, weights, 3, 0, k.sizes()[2], 1);
  if (options.dropout > 0) weights = dropout(m, weights);
  if (options.weights) *options.weights = weights;
  return matmul(m, weights, v);
}

// Positions are outermost there, so each head of each sample is a matrix where it lies. The first
// product scales (baddbmm), and one kernel masks its 16 bits and takes the softmax in 32
// (Megatron-LM, megatron/model/fused_softmax.py).
Value attention_by_masked_softmax(Machine& m, const AttentionOperands& o,
                                  const AttentionOptions& options) {
  const Shape q = o.q.sizes();
  const size_t rank = q.size();
  Dim heads(1);
  for (size_t i = 0; i + 2 < rank; ++i) heads = heads * q[i];
  const auto rows = [&](const Value& x) {
    return view(m, where_it_lies(m, x), {heads, x.sizes()[rank - 2], x.sizes()[rank - 1]});
  };
  const Value keys = rows(repeated_heads(m, o.k, o.q));
  const Value values = rows(repeated_heads(m, o.v, o.q));
  Value scores = bmm(m, rows(o.q), transpose(m, keys, 1, 2));
  Value weights = softmax(m, scores, 2);
  scores = {};
  if (options.dropout > 0) weights = dropout(m, weights);
  Shape result = q;
  result[rank - 1] = o.v.sizes()[rank - 1];
  return view(m, bmm(m, weights, values), result);
}

AttentionOperands attention_operands(Machine& m, const AttentionOperands& o,
                                     AttentionOptions& options) {
  AttentionOperands used = o;
  const bool windowed = is_masked(m, o, options);
  const bool takes_groups = !o.mask.defined() && !windowed &&
                            m.decider().equal(o.k.sizes()[3], o.v.sizes()[3]) &&
                            m.decider().at_most(o.k.sizes()[3], kWidestGroupedHead);
  if (!takes_groups) {
    used.k = repeated_heads(m, o.k, o.q);
    used.v = repeated_heads(m, o.v, o.q);
  }
  // Biases of positions: create_position_bias_mask().
  if (o.mask.defined() && o.mask.on_device()) {
    const Dim& queries = o.q.sizes()[2];
    const Dim& keys = o.k.sizes()[2];
    const bool causal = options.causal;
    used.mask = causal ? where(m, fill(m, DType::kBool, {Dim(1), Dim(1), queries, keys}), o.mask,
                               m.host(o.mask.dtype(), {}))
                       : contiguous(m, o.mask);
  }
  // The operator makes numbers of a mask of truth values.
  if (windowed && !o.mask.defined())
    used.mask = fill(m, o.q.dtype(), {o.q.sizes()[0], Dim(1), o.q.sizes()[2], o.k.sizes()[2]});
  if (used.mask.defined()) options.causal = false;
  return used;
}

}  // namespace plimsoll::eager
