#include "graph/eager/autocast.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// A tensor of few heads, repeated for all.
Value repeated(Machine& m, const Value& few, const Value& q) {
  if (few.rank() != 4 || q.rank() != 4 || few.sizes()[1] == q.sizes()[1]) return few;
  Shape sizes = few.sizes();
  sizes[1] = q.sizes()[1];
  return rearrange(m, "repeat", few, sizes);
}

// Scaled q and k, their product, mask, softmax, dropout, product with v.
Value separate(Machine& m, const Value& q, const Value& keys, const Value& values,
               const Value& mask, const AttentionOptions& options) {
  const Value k = repeated(m, keys, q);
  const Value v = repeated(m, values, q);
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

// A tensor of q's sizes, heads as wide as v's. The flash kernel gives it q's order in memory, the
// memory-efficient one [N,S,H,D] seen as [N,H,S,D].
Value result_of(Machine& m, const Value& q, const Value& v, bool flash) {
  const Shape& s = q.sizes();
  if (flash && s[3] == v.sizes()[3])
    return m.allocate(dense_like(q.layout(), q.dtype(), m.decider()));
  const Value memory = m.allocate(q.dtype(), {s[0], s[2], s[1], v.sizes()[3]});
  return transpose(m, memory, 1, 2);
}

// Flash attention takes no mask and half precision alone; the memory-efficient kernel serves the
// rest (ATen/native/transformers/cuda/sdp_utils.cpp). Operands of other ranks go in pieces, and
// those whose heads do not lie in memory element by element.
std::optional<AttentionForm> form_for(Machine& m, const Value& q, const Value& k, const Value& v,
                                      const Value& mask) {
  const auto form = m.policy().attention;
  if (!form || q.rank() != 4) return std::nullopt;
  for (const Value* operand : {&q, &k, &v}) {
    const bool alone = operand->sizes().back() == Dim(1);
    if (!alone && operand->strides().back() != Dim(1)) return std::nullopt;
  }
  const bool flash = *form == AttentionForm::kFlash && bits(q.dtype()) == 16 && !mask.defined();
  return flash || *form != AttentionForm::kFlash ? *form : AttentionForm::kMemoryEfficient;
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

}  // namespace

Value attention(Machine& m, const Value& query, const Value& key, const Value& value,
                const Value& bias, const AttentionOptions& options) {
  // Heads of all samples in one dimension: PyTorch sees them as those of one sample (2.15's own
  // dispatch; timm's SAM).
  if (query.rank() == 3 && key.rank() == 3 && value.rank() == 3) {
    const auto grown = [&m](const Value& x) {
      return x.defined() && x.on_device() && x.rank() == 3 ? unsqueeze(m, x, 0) : x;
    };
    return squeeze(m, attention(m, grown(query), grown(key), grown(value), grown(bias), options),
                   {0});
  }
  const Value q = lowered(m, query);
  const Value k = lowered(m, key);
  const Value v = lowered(m, value);
  const Value mask = lowered(m, bias);
  const auto form = form_for(m, q, k, v, mask);
  if (!form) {
    const AutocastPause pause(m);  // the pieces run in the type the whole was given
    return separate(m, q, k, v, mask, options);
  }
  const Dim& batch = q.sizes()[0];
  const Dim& heads = q.sizes()[1];
  const Dim& queries = q.sizes()[2];
  const Dim& keys = k.sizes()[2];
  AttentionProblem<Dim> p{.form = *form,
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
  Value used_mask = aligned_mask(m, mask);
  if (used_mask.defined() && used_mask.on_device())
    used_mask = expand(m, used_mask, {batch, heads, queries, keys});
  const Dim flop = Dim(2) * batch * heads * queries * keys * (q.sizes()[3] + v.sizes()[3]);
  const bool flash = *form == AttentionForm::kFlash;
  const Dim row_padding = flash ? 1 : m.policy().attention_row_padding;
  const Dim padded = ceil_div(queries, row_padding) * row_padding;
  std::vector<Kept> kept;
  const Value seen = result_of(m, q, v, flash);
  const Value seed = m.allocate(DType::kInt64, {});
  const Value offset = m.allocate(DType::kInt64, {});
  if (tracked) {
    const Value row_sums = m.allocate(DType::kFloat32, {batch, heads, padded});
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
  launch(m, Pass::kForward, q.bytes() + k.bytes() + v.bytes(), seen.bytes(), q.dtype(), 2);
  Value result = seen;
  const Value inputs[] = {q, k, v, used_mask};
  m.record(result, inputs, std::move(kept),
           [launch, flash](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out_gradients(4);
             const Dim operands = n.saved(0).bytes() + n.saved(1).bytes() + n.saved(2).bytes();
             for (size_t i = 0; i < 3; ++i) {
               out_gradients[i] = result_of(mm, n.saved(i), n.saved(i), flash);
             }
             if (n.needs(3)) {
               const Dim keys_seen = n.saved(1).sizes()[2];
               const Value wide =
                   mm.allocate(n.saved(0).dtype(),
                               {n.saved(0).sizes()[0], n.saved(0).sizes()[1], n.saved(0).sizes()[2],
                                round_up(keys_seen, kMaskGradientAlignment)});
               out_gradients[3] = slice(mm, wide, 3, 0, keys_seen, 1);
             }
             // Five products against the forward's two.
             launch(mm, Pass::kBackward, operands + Dim(2) * g[0].bytes(), operands, g[0].dtype(),
                    5);
             return out_gradients;
           });
  return result;
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
  const Value bent = m.allocate(q.dtype(), all);
  Value scores = m.allocate(q.dtype(), {all[0], all[1], all[2]});
  m.launch_rows(KernelClass::kPointwise, "add", bent.count(), {&q, &k}, {&bent});
  m.launch_rows(KernelClass::kPointwise, "tanh", bent.count() * Dim(8), {&bent}, {&bent});
  m.launch_rows(KernelClass::kPointwise, "mul", bent.count(), {&bent, &v}, {&bent});
  m.launch_rows(KernelClass::kReduce, "scores", bent.count(), {&bent}, {&scores}, scores.count());
  const Value inputs[] = {q, k, v};
  std::vector<Kept> kept{{bent, "additive attention keeps its tanh"},
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
