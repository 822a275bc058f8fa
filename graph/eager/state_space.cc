#include "graph/eager/state_space.h"

#include "graph/eager/chunks.h"
#include "graph/eager/einsum.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

constexpr size_t kSequenceAxis = 1;

Value product(Machine& m, const Value& a, const std::string& of_a, const Value& b,
              const std::string& of_b, const std::string& out) {
  const Value operands[] = {a, b};
  const std::string letters[] = {of_a, of_b};
  return einsum(m, operands, letters, out);
}

// The complement of torch.tril(torch.ones(length, length)); `triangle` is the caller's name of it.
Value hidden_by(Machine& m, Value& triangle, const Dim& length) {
  const Value ones = fill(m, DType::kBool, {length, length});
  triangle = map(m, "tril", {&ones, 1}, DType::kBool);
  return map(m, "not", {&triangle, 1}, DType::kBool);
}

// segment_sum(): of x [..., L] the sums from one position to another, [..., L, L].
Value segment_sum(Machine& m, const Value& x) {
  const Dim length = x.sizes().back();
  Shape pairs = x.sizes();
  pairs.push_back(length);
  Value mask;
  Value wide = expand(m, unsqueeze(m, x, x.rank()), pairs);
  wide = masked_fill(m, wide, hidden_by(m, mask, length));
  const Value sums = cumulative_sum(m, wide);
  return masked_fill(m, sums, hidden_by(m, mask, length));
}

// x.float().repeat_interleave(): a copy, also where there is a group for each head.
Value for_all_heads(Machine& m, const Value& x, const Dim& heads) {
  const Value wide = cast(m, x, DType::kFloat32);
  const Shape& s = wide.sizes();
  const Value each =
      expand(m, unsqueeze(m, wide, 3), {s[0], s[1], s[2], floor_div(heads, s[2]), s[3]});
  return view(m, clone(m, each, m.contiguous(each.dtype(), each.sizes())),
              {s[0], s[1], heads, s[3]});
}

// The last dimension of x, each of its numbers for one of a new last dimension.
Value outer(Machine& m, const Value& x) { return unsqueeze(m, x, x.rank()); }

}  // namespace

// Names are those of transformers' code, and end where those do.
Value state_space_scan(Machine& m, const StateSpaceInputs& in, int64_t chunk) {
  const Shape sizes = in.x.sizes();
  const Dim &samples = sizes[0], &steps = sizes[1], &heads = sizes[2];
  Value dt = add(m, in.dt, in.dt_offsets);
  dt = unary(m, "softplus", dt, Keeps::kInput, "softplus keeps its input", 8);
  dt = clamp(m, dt, 2);
  Value x = cast(m, in.x, DType::kFloat32);
  Value b = for_all_heads(m, in.b, heads), c = for_all_heads(m, in.c, heads);

  const Dim chunks = ceil_div(steps, Dim(chunk)), length = chunks * Dim(chunk);
  const auto whole = [&](const Value& v) { return padded(m, v, kSequenceAxis, length); };
  const Value residual = mul(m, outer(m, in.skip), whole(x));
  x = mul(m, x, cast(m, outer(m, dt), DType::kFloat32));
  Value a = mul(m, in.decay, cast(m, dt, DType::kFloat32));
  const auto chunked = [&](const Value& v) {
    Shape apart = v.sizes();
    apart[kSequenceAxis] = chunk;
    apart.insert(apart.begin() + kSequenceAxis, chunks);
    return reshape(m, whole(v), apart);
  };
  x = chunked(x);
  a = chunked(a);
  b = chunked(b);
  c = chunked(c);
  a = permute(m, a, {0, 3, 1, 2});
  const Value sums = cumulative_sum(m, a);

  // Inside of chunks.
  const Value l = exponential(m, segment_sum(m, a));
  const Value g = product(m, c, "bclhn", b, "bcshn", "bclsh");
  const Value weights = mul(m, g, permute(m, l, {0, 2, 3, 4, 1}));
  const Value diagonal = product(m, weights, "bclsh", x, "bcshp", "bclhp");

  // What each adds to the state.
  const Value last = slice(m, sums, 3, chunk - 1, 1, 1);
  const Value to_end = exponential(m, add(m, last, sums, "sub"));
  const Value decayed = mul(m, b, outer(m, permute(m, to_end, {0, 2, 3, 1})));
  Value states = product(m, decayed, "bclhn", x, "bclhp", "bchpn");

  // From chunk to chunk.
  const Value first = fill(m, states.dtype(), {samples, Dim(1), heads, sizes[3], b.sizes().back()});
  const Value joined[] = {first, states};
  states = concat(m, joined, 1);
  const Value ends = padded(m, select(m, sums, 3, chunk - 1), 2, chunks + 1);
  const Value between = transpose(m, exponential(m, segment_sum(m, ends)), 1, 3);
  const Value all = product(m, between, "bzch", states, "bzhpn", "bchpn");
  states = slice(m, all, 1, 0, chunks, 1);

  // What is read of the state.
  const Value from_start = exponential(m, sums);
  const Value read = product(m, c, "bclhn", states, "bchpn", "bclhp");
  const Value across = mul(m, read, outer(m, permute(m, from_start, {0, 2, 3, 1})));
  Value y = contiguous(m, add(m, diagonal, across));
  y = add(m, reshape(m, y, {samples, length, heads, sizes[3]}), residual);
  return m.decider().equal(length, steps) ? y : slice(m, y, kSequenceAxis, 0, steps, 1);
}

Value state_space_step(Machine& m, const StateSpaceInputs& in, const Value& state) {
  Value y = m.allocate(in.x.dtype(), in.x.sizes());
  m.launch_rows(KernelClass::kPointwise, "state_space", state.count() * Dim(6), {&state, &in.x},
                {&state, &y});
  return y;
}

}  // namespace plimsoll::eager
