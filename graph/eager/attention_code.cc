// What transformers' code does around and in place of PyTorch's attention operator.
#include "graph/eager/attention_form.h"
#include "graph/eager/autocast.h"

namespace plimsoll::eager {
namespace {

// sdpa_attention.py, use_gqa_in_sdpa(): wider heads fall back to separate products.
constexpr int64_t kWidestGroupedHead = 256;

bool is_windowed(Machine& m, const AttentionOperands& o, const AttentionOptions& options) {
  if (options.window == 0) return false;
  return !m.decider().less(o.k.sizes()[2], Dim(options.window));
}

}  // namespace

// repeat_kv(): expand and reshape, which copies.
Value repeated_heads(Machine& m, const Value& few, const Value& q) {
  if (few.rank() != 4 || q.rank() != 4 || few.sizes()[1] == q.sizes()[1]) return few;
  Shape sizes = few.sizes();
  sizes[1] = q.sizes()[1];
  return rearrange(m, "repeat", few, sizes);
}

Value attention_in_operators(Machine& m, const AttentionOperands& o,
                             const AttentionOptions& options) {
  const Value k = options.grouped ? repeated_heads(m, o.k, o.q) : o.k;
  const Value v = options.grouped ? repeated_heads(m, o.v, o.q) : o.v;
  Value scores = matmul(m, o.q, transpose(m, k, 2, 3));
  const Value number = m.host(scores.dtype(), {});
  if (options.scaled) scores = mul(m, scores, number);
  if (options.softcap) {
    scores = div(m, scores, number);
    scores = unary(m, "tanh", scores, Keeps::kResult, "tanh keeps its result");
    scores = mul(m, scores, number);
  }
  if (o.mask.defined() || options.causal)
    scores = add(m, scores, o.mask.defined() ? o.mask : number);
  const DType type = scores.dtype();
  if (options.wide_softmax) scores = cast(m, scores, DType::kFloat32);
  Value weights = softmax(m, scores, scores.rank() - 1);
  scores = {};
  if (options.wide_softmax) weights = cast(m, weights, type);
  if (options.dropout > 0) weights = dropout(m, weights);
  return matmul(m, weights, v);
}

AttentionOperands attention_operands(Machine& m, const AttentionOperands& o,
                                     AttentionOptions& options) {
  AttentionOperands used = o;
  const bool windowed = is_windowed(m, o, options);
  const bool takes_groups = !o.mask.defined() && !windowed &&
                            m.decider().equal(o.k.sizes()[3], o.v.sizes()[3]) &&
                            m.decider().at_most(o.k.sizes()[3], kWidestGroupedHead);
  if (!takes_groups) {
    used.k = repeated_heads(m, o.k, o.q);
    used.v = repeated_heads(m, o.v, o.q);
  }
  // The operator makes numbers of a mask of truth values.
  if (windowed && !o.mask.defined())
    used.mask = fill(m, o.q.dtype(), {o.q.sizes()[0], Dim(1), o.q.sizes()[2], o.k.sizes()[2]});
  if (used.mask.defined()) options.causal = false;
  return used;
}

}  // namespace plimsoll::eager
