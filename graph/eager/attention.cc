#include "graph/eager/attention_form.h"
#include "graph/eager/attention_kernel.h"
#include "graph/eager/autocast.h"
#include "graph/eager/context_attention.h"

namespace plimsoll::eager {
namespace {

// One for each sample and key, in the type of the weights, which autocast leaves at 32 bits: what
// it is added to is widened (modeling_bert.py of transformers 4.16, get_extended_attention_mask;
// modeling.py of NVIDIA's BERT).
Value mask_of_padding(Machine& m, const Value& q, const Value& k) {
  if (!m.autocast()) return m.host(q.dtype(), {});
  return m.allocate(DType::kFloat32, {q.sizes()[0], Dim(1), Dim(1), k.sizes()[k.rank() - 2]});
}

// Product of q and k, mask, softmax, dropout, product with v: the operators that PyTorch puts in
// place of the one (_scaled_dot_product_attention_math), which scales q and k and later in 32 bits
// hands out the weights in the type that it was given; or the model's own, of before there was the
// one, which scale the scores (modeling_bert.py and modeling_gpt2.py of Hugging Face's
// transformers, modeling.py of NVIDIA's BERT, timm/models/vision_transformer.py before 0.9).
Value separate(Machine& m, const AttentionOperands& given, const AttentionOptions& options) {
  const bool widens = m.policy().attention.separate_in_fp32;
  const auto widened = [&](const Value& x) {
    return widens && bits(x.dtype()) == 16 ? cast(m, x, DType::kFloat32) : x;
  };
  const Value q = widened(given.q);
  const Value k = repeated_heads(m, widened(given.k), q);
  const Value v = repeated_heads(m, widened(given.v), q);
  const Value number = m.host(q.dtype(), {});
  const bool operands = m.policy().attention.separate_by_operator && (options.scaled || widens);
  const bool in_scores = options.scaled && !operands;
  const Value scaled_q = operands ? mul(m, q, number) : q;
  Value mask = given.mask;
  if (!mask.defined() && options.padded && in_scores) mask = mask_of_padding(m, q, k);
  if (!mask.defined() && options.causal)
    mask = widens ? fill(m, q.dtype(), {q.sizes()[q.rank() - 2], k.sizes()[k.rank() - 2]}) : number;
  const Value flipped = transpose(m, k, k.rank() - 2, k.rank() - 1);
  Value scores = matmul(m, scaled_q, operands ? mul(m, flipped, number) : flipped);
  if (in_scores) scores = mul(m, scores, number);
  if (mask.defined()) scores = add(m, scores, mask);
  Value weights = softmax(m, scores, scores.rank() - 1);
  scores = {};
  if (options.dropout > 0) weights = dropout(m, weights);
  const bool hands_out = m.policy().attention.separate_by_operator;
  const Value handed_out = hands_out ? cast(m, weights, given.q.dtype()) : Value();
  return cast(m, matmul(m, weights, v), given.q.dtype());
}

// The memory-efficient kernel reads masks whose rows start at multiples of this many elements
// (mem_eff_alignment in ATen/native/transformers/attention.cpp); the gradients it makes for them
// are wider still (kernels in native/transformers/cuda/attention_backward.cu).
constexpr int64_t kMaskAlignment = 8;
constexpr int64_t kMaskGradientAlignment = 16;

Dim round_up(const Dim& value, int64_t to) { return ceil_div(value, Dim(to)) * Dim(to); }

bool is_aligned(Machine& m, const Value& mask) {
  for (size_t i = 0; i + 1 < mask.rank(); ++i) {
    const Dim& stride = mask.strides()[i];
    if (!m.decider().equal(round_up(stride, kMaskAlignment), stride)) return false;
  }
  return mask.strides().back() == Dim(1);
}

// Callers make a mask contiguous whose rows do not lie in memory one after the other; the framework
// pads one whose rows are not aligned.
Value aligned_mask(Machine& m, const Value& given) {
  if (!given.defined() || !given.on_device()) return given;
  Value mask = given.strides().back() == Dim(1) ? given : clone(m, given);
  if (is_aligned(m, mask)) return mask;
  const size_t last = mask.rank() - 1;
  const Dim width = mask.sizes()[last];
  Shape padded = mask.sizes();
  padded[last] = (floor_div(width, Dim(kMaskAlignment)) + 1) * Dim(kMaskAlignment);
  return slice(m, rearrange(m, "pad", mask, padded), last, 0, width, 1);
}

// Flash reads heads of a multiple of so many elements; PyTorch pads others before and slices after
// (pad_last_dim in ATen/native/transformers/attention.cpp).
constexpr int64_t kFlashAlignment = 8;

Value padded_heads(Machine& m, const Value& x) {
  Shape sizes = x.sizes();
  sizes[3] = round_up(sizes[3], kFlashAlignment);
  return m.decider().equal(sizes[3], x.sizes()[3]) ? x : rearrange(m, "pad", x, sizes);
}

Backward fused_backward(const AttentionProblem<Dim>& p, const Dim& calls) {
  return [p, calls](Machine& m, const Gradients& g, const GradNode& n) {
    Gradients out(4);
    const Dim operands = n.saved(0).bytes() + n.saved(1).bytes() + n.saved(2).bytes();
    for (size_t i = 0; i < 3; ++i) out[i] = attention_result(m, n.saved(i), n.saved(i), p.form);
    if (n.needs(3)) {
      const Value wide = m.allocate(n.saved(0).dtype(), {p.batch, p.heads, p.queries,
                                                         round_up(p.keys, kMaskGradientAlignment)});
      out[3] = slice(m, wide, 3, 0, p.keys, 1);
    }
    launch_attention(m, Pass::kBackward, p, operands + Dim(2) * g[0].bytes(), operands,
                     g[0].dtype(), {&g[0], &n.saved(0), &n.saved(1), &n.saved(2), &n.saved(3)},
                     {&out[0], &out[1], &out[2], &out[3]}, calls);
    return out;
  };
}

// What each of `calls` allocates for itself: the allocator hands out multiples of 512 bytes
// (c10/cuda/CUDACachingAllocator.cpp, kMinBlockSize).
Value of_each(Machine& m, DType dtype, const Shape& sizes, const Dim& calls) {
  if (calls == Dim(1)) return m.allocate(dtype, sizes);
  return m.allocate(dtype, {calls, round_up(elements(sizes), 512 * 8 / bits(dtype))});
}

// One kernel for all, of operands that it takes as they are. The memory-efficient one is told
// whether a backward pass will want the log of its row sums.
Value fused(Machine& m, const AttentionOperands& o, AttentionForm form,
            const AttentionOptions& options) {
  if (shares_sequence(m)) return ring_attention(m, o, form, options);
  const Shape& q = o.q.sizes();
  const Shape& k = o.k.sizes();
  const Dim calls = options.apart ? q[0] : Dim(1);
  const AttentionProblem<Dim> p{.form = form,
                                .batch = options.apart ? Dim(1) : q[0],
                                .heads = q[1],
                                .kv_heads = k[1],
                                .queries = q[2],
                                .keys = k[2],
                                .head_size = q[3],
                                .value_size = o.v.sizes()[3],
                                .causal = options.causal,
                                .masked = o.mask.defined(),
                                .dropout = options.dropout > 0};
  const bool pads_rows = form == AttentionForm::kMemoryEfficient;
  const Value operands[] = {o.q, o.k, o.v};
  const bool tracked = m.tracks(operands);
  const std::vector<Value> made = m.kept_results(false, [&] {
    std::vector<Value> results = {attention_result(m, o.q, o.v, form),
                                  of_each(m, DType::kInt64, {}, calls),
                                  of_each(m, DType::kInt64, {}, calls), Value()};
    if (tracked || !pads_rows) {
      const Dim rows = pads_rows ? round_up(q[2], m.policy().attention.row_padding) : q[2];
      results[3] = of_each(m, DType::kFloat32, {p.batch, q[1], rows}, calls);
    }
    launch_attention(m, Pass::kForward, p, o.q.bytes() + o.k.bytes() + o.v.bytes(),
                     results[0].bytes(), o.q.dtype(), {&o.q, &o.k, &o.v, &o.mask}, {&results[0]},
                     calls);
    return results;
  });
  Value result = made[0];
  std::vector<Kept> kept;
  if (tracked) {
    kept = {{o.q, "attention keeps its queries"},
            {o.k, "attention keeps its keys"},
            {o.v, "attention keeps its values"},
            {result, "attention keeps its result"},
            {made[3], "attention keeps the log of its row sums"},
            {made[1], "attention keeps its random state"},
            {made[2], "attention keeps its random state"}};
    if (o.mask.defined()) kept.push_back({o.mask, "attention keeps its mask"});
  }
  const Value inputs[] = {o.q, o.k, o.v, o.mask};
  m.record(result, inputs, std::move(kept), fused_backward(p, calls));
  return result;
}

// Of 16 bits without a mask, heads padded where they must be. The package's causal and windowed
// kernels take no mask either.
Value flash(Machine& m, const AttentionOperands& o, const AttentionOptions& options) {
  const AttentionOperands wide{
      padded_heads(m, o.q), padded_heads(m, o.k), padded_heads(m, o.v), {}};
  const Value result = fused(m, wide, AttentionForm::kFlash, options);
  const Dim& size = o.v.sizes()[3];
  const bool same = m.decider().equal(wide.v.sizes()[3], size);
  return same ? result : slice(m, result, 3, 0, size, 1);
}

// Its mask is expanded to one for each head, in rows that are aligned.
Value memory_efficient(Machine& m, const AttentionOperands& o, const AttentionOptions& options) {
  AttentionOperands used = o;
  used.mask = aligned_mask(m, o.mask);
  if (used.mask.defined() && used.mask.on_device())
    used.mask =
        expand(m, used.mask, {o.q.sizes()[0], o.q.sizes()[1], o.q.sizes()[2], o.k.sizes()[2]});
  return fused(m, used, AttentionForm::kMemoryEfficient, options);
}

}  // namespace

Value attention(Machine& m, const Value& query, const Value& key, const Value& value,
                const Value& bias, const AttentionOptions& options) {
  const AttentionOperands operands{query, key, value, bias};
  return shares_heads(m) ? attention_of_heads(m, operands, options)
                         : attention_over(m, operands, options);
}

Value attention_over(Machine& m, const AttentionOperands& operands, const AttentionOptions& given) {
  const auto& [query, key, value, bias] = operands;
  // Heads of all samples in one dimension: PyTorch sees them as those of one sample (2.15's own
  // dispatch; timm's SAM).
  if (query.rank() == 3 && key.rank() == 3 && value.rank() == 3) {
    const auto grown = [&m](const Value& x) {
      return x.defined() && x.on_device() && x.rank() == 3 ? unsqueeze(m, x, 0) : x;
    };
    return squeeze(
        m, attention_over(m, {grown(query), grown(key), grown(value), grown(bias)}, given), {0});
  }
  const AttentionCode code = m.policy().attention.code;
  // PyTorch's operator caps no scores and has neither sinks nor alibi: such models run theirs one
  // by one.
  const bool unlike = given.softcap || given.shifted || given.sinks.defined() ||
                      given.alibi.defined() || given.by_rows;
  const bool in_operators =
      code == AttentionCode::kEager || (unlike && code != AttentionCode::kFlash);
  if (in_operators && given.transformers)
    return attention_in_operators(m, {query, key, value, bias}, given);
  AttentionOptions options = given;
  AttentionOperands o{to_autocast(m, query), to_autocast(m, key), to_autocast(m, value),
                      to_autocast(m, bias)};
  if (code == AttentionCode::kFlash) return flash(m, o, options);
  if (code == AttentionCode::kMaskedSoftmax && !unlike)
    return attention_by_masked_softmax(m, o, options);
  if (given.transformers) o = attention_operands(m, o, options);
  // Fewer heads of keys than of queries, without saying so to the operator.
  const bool uneven =
      given.transformers && !given.grouped && !m.decider().equal(query.sizes()[1], key.sizes()[1]);
  const auto form =
      code == AttentionCode::kEager || uneven ? std::nullopt : attention_form(m, o, options);
  if (!form) {
    if (shares_sequence(m)) o = with_whole_sequence(m, o);
    if (code == AttentionCode::kEager || !m.policy().attention.separate_by_operator)
      return separate(m, o, options);
    const AutocastPause pause(m);  // the operator's pieces run in the type the whole was given
    return separate(m, o, options);
  }
  switch (*form) {
    case AttentionForm::kFlash:
      return flash(m, o, options);
    case AttentionForm::kMemoryEfficient:
      return memory_efficient(m, o, options);
    case AttentionForm::kLibrary:
      break;
  }
  return fused(m, o, *form, options);
}

// All queries keep the tanh, and its input where the framework keeps that; what backward makes of
// it lives for one query only. Each operator is a kernel over all pairs, and the gradient of the
// keys is summed query by query.
Value additive_scores(Machine& m, const Value& q, const Value& k, const Value& v) {
  const Dim& queries = q.sizes()[1];
  const Shape one_query = k.sizes();
  const Shape all{k.sizes()[0], queries, k.sizes()[1], k.sizes()[2]};
  const bool keeps_sums = m.policy().smooth_keeps_input;
  const Value sums = m.allocate(q.dtype(), keeps_sums ? all : one_query);
  const Value activated = m.allocate(q.dtype(), all);
  Value scores = m.allocate(q.dtype(), {all[0], all[1], all[2]});
  m.launch_rows(KernelClass::kPointwise, "add", activated.count(), {&q, &k}, {&activated});
  m.launch_rows(KernelClass::kPointwise, "tanh", activated.count() * Dim(8), {&activated},
                {&activated});
  m.launch_rows(KernelClass::kPointwise, "mul", activated.count(), {&activated, &v}, {&activated});
  m.launch_rows(KernelClass::kReduce, "scores", activated.count(), {&activated}, {&scores},
                scores.count());
  const Value inputs[] = {q, k, v};
  std::vector<Kept> kept{{activated, "additive attention keeps its tanh"},
                         {v, "additive attention keeps its weight"}};
  if (keeps_sums) kept.push_back({sums, "additive attention keeps the input of its tanh"});
  m.record(scores, inputs, std::move(kept),
           [one_query](Machine& mm, const Gradients& g, const GradNode& n) {
             const Value& tanh = n.saved(0);
             const Value dtanh = mm.allocate(tanh.dtype(), one_query);
             Gradients out;
             for (size_t i = 0; i < 3; ++i)
               out.push_back(mm.allocate(n.edges[i].input->dtype, n.edges[i].input->sizes));
             const auto pointwise = [&](const char* op, std::initializer_list<const Value*> read) {
               mm.launch_rows(KernelClass::kPointwise, op, tanh.count(), read, {&tanh});
             };
             const auto reduce = [&](const Value& sum) {
               mm.launch_rows(KernelClass::kReduce, "sum", tanh.count(), {&tanh}, {&sum},
                              sum.count());
             };
             pointwise("mul", {&g[0], &tanh});
             reduce(out[2]);
             pointwise("mul", {&g[0], &n.saved(1)});
             pointwise("tanh", {&tanh, &tanh});
             reduce(out[0]);
             pointwise("add", {&tanh, &tanh});
             return out;
           });
  return scores;
}

}  // namespace plimsoll::eager
