#include "graph/eager/delta_rule.h"

#include <tuple>

#include "graph/eager/chunks.h"
#include "graph/eager/ops.h"
#include "graph/eager/triangular.h"

namespace plimsoll::eager {
namespace {

constexpr int64_t kChunk = 64;  // chunk_size
constexpr size_t kSequenceAxis = 2, kChunkAxis = 2;

// Each factor of all rows of x.
Value times_rows(Machine& m, const Value& x, const Value& factors) {
  return mul(m, x, unsqueeze(m, factors, factors.rank()));
}

// torch.repeat_interleave() of a number: a copy.
Value for_value_heads(Machine& m, const Value& x, const Dim& heads) {
  if (m.decider().equal(x.sizes()[2], heads)) return x;
  const Shape& s = x.sizes();
  const Dim times = floor_div(heads, s[2]);
  const Value wide = expand(m, unsqueeze(m, x, 3), {s[0], s[1], s[2], times, s[3]});
  return view(m, clone(m, wide), {s[0], s[1], heads, s[3]});
}

// x.to(type, memory_format=contiguous_format): what has the type stays as it lies.
Value converted(Machine& m, const Value& x, DType type) {
  if (x.dtype() == type) return x;
  Value y = m.allocate(type, x.sizes());
  m.launch_rows(KernelClass::kCopy, "cast", 0, {&x}, {&y});
  const Value inputs[] = {x};
  m.record(y, inputs, {}, [from = x.dtype()](Machine& mm, const Gradients& g, const GradNode&) {
    return Gradients{cast(mm, g[0], from)};
  });
  return y;
}

Value l2_norm(Machine& m, const Value& x) {
  const Value sum = reduce(m, "reduce", mul(m, x, x), {x.rank() - 1}, true, Reduction::kSum);
  return mul(m, x,
             unary(m, "rsqrt", add(m, sum, scalar_like(m, sum)), Keeps::kResult,
                   "rsqrt keeps its result"));
}

// [N, heads, S, ...] -> [N, heads, chunks, 64, ...]
Value in_chunks(Machine& m, const Value& x, const Dim& chunks) {
  Shape sizes = x.sizes();
  sizes[kSequenceAxis] = chunks;
  sizes.insert(sizes.begin() + kSequenceAxis + 1, Dim(kChunk));
  return reshape(m, x, sizes);
}

Value upper_triangle(Machine& m) {
  const Value ones = m.allocate(DType::kBool, {kChunk, kChunk});
  m.launch_rows(KernelClass::kCopy, "fill", 0, {}, {&ones});
  return elementwise(m, "triu", {&ones, 1}, DType::kBool);
}

Value transposed_last(Machine& m, const Value& x) {
  return transpose(m, x, x.rank() - 2, x.rank() - 1);
}

// What the scan over chunks reads, each with an axis of chunks.
struct Scanned {
  Value query, key, decay;     // decay: of whole chunks
  Value within;                // attention inside of chunks
  Value values, decayed_keys;  // of the solved systems
};

// Of the chunks those that are written down: all, where each keeps its own for backward. Else the
// first and another, which stands for the rest.
int64_t rounds_of(Machine& m, const Dim& chunks, bool all) {
  if (!all) return m.decider().is_one(chunks) ? 1 : 2;
  const int64_t here = chunks.evaluate(m.decider().hints()).value_or(1);
  return m.decider().equal(chunks, here) ? here : 1;
}

Value scan(Machine& m, const Scanned& in, Value state, const Dim& chunks) {
  Value out = m.allocate(in.values.layout_ref());
  m.launch_rows(KernelClass::kCopy, "fill", 0, {}, {&out});
  const bool all = m.tracks({&in.values, 1});
  const auto of_chunk = [&](const Value& x) { return select(m, x, kChunkAxis, 0); };
  Value corrected, across;  // names that last from one round to the next
  for (int64_t i = 0; i < rounds_of(m, chunks, all); ++i) {
    m.set_turns(all || i == 0 ? Dim(1) : chunks - 1);
    corrected = add(m, of_chunk(in.values), matmul(m, of_chunk(in.decayed_keys), state), "sub");
    across = matmul(m, of_chunk(in.query), state);
    out = assign(m, out, add(m, across, matmul(m, of_chunk(in.within), corrected)), false);
    state = add(m, mul(m, state, of_chunk(in.decay)),
                matmul(m, transposed_last(m, of_chunk(in.key)), corrected));
  }
  m.set_turns(1);
  return out;
}

}  // namespace

// Names are those of transformers' code, and end where those do.
Value gated_delta_rule(Machine& m, const DeltaRuleInputs& in) {
  const Dim steps = in.value.sizes()[1], heads = in.value.sizes()[2];
  Value query = for_value_heads(m, in.query, heads), key = for_value_heads(m, in.key, heads);
  const auto widened = [&](const Value& x) {
    return converted(m, transpose(m, x, 1, 2), DType::kFloat32);
  };
  Value value, beta, decay;
  std::tie(query, key, value, beta, decay) = std::tuple{
      widened(query), widened(key), widened(in.value), widened(in.beta), widened(in.decay)};
  query = l2_norm(m, query);
  key = l2_norm(m, key);
  query = mul(m, query, scalar_like(m, query));
  const Dim chunks = ceil_div(steps, kChunk), length = chunks * Dim(kChunk);
  const auto whole = [&](const Value& x) { return padded(m, x, kSequenceAxis, length); };
  std::tie(query, key, value) = std::tuple{whole(query), whole(key), whole(value)};
  std::tie(beta, decay) = std::tuple{whole(beta), whole(decay)};

  const auto chunked = [&](const Value& x) { return in_chunks(m, x, chunks); };
  const Value v_beta = chunked(times_rows(m, value, beta));
  const Value k_beta = chunked(times_rows(m, key, beta));
  query = chunked(query);
  key = chunked(key);
  const Value mask = upper_triangle(m);
  const Value total = cumulative_sum(m, chunked(decay));
  Value pairwise = add(m, unsqueeze(m, total, 4), unsqueeze(m, total, 3), "sub");
  pairwise = masked_fill(m, pairwise, mask);
  pairwise = exponential(m, pairwise);
  const Value system = mul(m, matmul(m, k_beta, transposed_last(m, key)), pairwise);
  const Value within = mul(m, matmul(m, query, transposed_last(m, key)), pairwise);
  const Value decayed_k_beta = times_rows(m, k_beta, exponential(m, total));
  const Value values = solve_triangular(m, system, v_beta);
  const Value decayed_keys = solve_triangular(m, system, decayed_k_beta);

  const Shape k = key.sizes();  // of the key as it is before its decay
  const Value state = fill(m, values.dtype(), {k[0], k[1], k.back(), values.sizes().back()});
  query = times_rows(m, query, exponential(m, total));
  const Value to_end = add(m, slice(m, total, 3, kChunk - 1, 1, 1), total, "sub");
  key = times_rows(m, key, exponential(m, to_end));
  const Value of_chunks = exponential(m, select(m, total, 3, kChunk - 1));
  const Value out = scan(m,
                         {.query = query,
                          .key = key,
                          .decay = unsqueeze(m, unsqueeze(m, of_chunks, 3), 4),
                          .within = within,
                          .values = values,
                          .decayed_keys = decayed_keys},
                         state, chunks);
  Value y = reshape(m, out, {k[0], k[1], length, values.sizes().back()});
  if (!m.decider().equal(length, steps)) y = slice(m, y, kSequenceAxis, 0, steps, 1);
  return converted(m, transpose(m, y, 1, 2), in.query.dtype());
}

Value gated_delta_step(Machine& m, const DeltaRuleInputs& in, const Value& state) {
  Value y = m.allocate(in.query.dtype(), in.value.sizes());
  m.launch_rows(KernelClass::kPointwise, "gated_delta", state.count() * Dim(8), {&state, &in.value},
                {&state, &y});
  return y;
}

}  // namespace plimsoll::eager
