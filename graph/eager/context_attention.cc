#include "graph/eager/context_attention.h"

#include <array>
#include <optional>
#include <utility>

#include "graph/eager/attention_kernel.h"
#include "graph/eager/exchanged.h"

namespace plimsoll::eager {
namespace {

constexpr size_t kHeads = 1, kSequence = 2;

int64_t ranks_of(const Machine& m) { return m.recipe().parallel.mesh.extent(Axis::kContext); }

Shape resized(Shape sizes, size_t axis, const Dim& extent) {
  sizes[axis] = extent;
  return sizes;
}

// Which halves meet in a turn (_CausalBehavior and "load balance algorithm" there).
struct Turn {
  bool half_queries = false, half_keys = false, causal = false;
};

Turn turn_of(int64_t turn, int64_t rank, bool causal) {
  if (turn == 0 || !causal) return {.causal = causal};
  return {.half_queries = turn > rank, .half_keys = turn <= rank};
}

Value first_half(Machine& m, const Value& x) {
  return slice(m, x, kSequence, 0, floor_div(x.sizes()[kSequence], 2), 1);
}
Value second_half(Machine& m, const Value& x) {
  const Dim half = floor_div(x.sizes()[kSequence], 2);
  return slice(m, x, kSequence, half, x.sizes()[kSequence] - half, 1);
}

Value joined(Machine& m, const Value& a, const Value& b) {
  Value flat = m.allocate(a.dtype(), {a.count() + b.count()});
  const Value read[] = {a, b};
  m.launch_over(KernelClass::kCopy, "cat", 0, read, flat);
  return flat;
}

Value window(Machine& m, const Value& buffer, const Value& like, DType dtype) {
  return m.view_of(buffer, contiguous_layout(dtype, like.sizes()));
}

// The keys and values of one rank after the other.
class Rotation {
 public:
  Rotation(Machine& m, ContextBy by) : m_(m), by_(by) {}

  void send(const Value& part) {
    const bool gathers = by_ == ContextBy::kAllGather;
    if (gathers && buffer_.defined()) return;
    Value received =
        m_.allocate(part.dtype(), {gathers ? part.count() * Dim(ranks_of(m_)) : part.count()});
    under_way_ =
        m_.issue({.kind = gathers ? CollectiveKind::kAllGather : CollectiveKind::kSendReceive,
                  .axis = Axis::kContext,
                  .bytes = received.bytes(),
                  .buffer = received.storage()->id()});
    buffer_ = std::move(received);
  }
  const Value& next() {
    if (under_way_) m_.await(*std::exchange(under_way_, std::nullopt));
    return buffer_;
  }

 private:
  Machine& m_;
  ContextBy by_;
  Value buffer_;
  std::optional<uint32_t> under_way_;
};

AttentionProblem<Dim> problem_of(const Value& q, const Value& k, const Value& v, AttentionForm form,
                                 const AttentionOptions& options) {
  return {.form = form,
          .batch = q.sizes()[0],
          .heads = q.sizes()[1],
          .kv_heads = k.sizes()[1],
          .queries = q.sizes()[2],
          .keys = k.sizes()[2],
          .head_size = q.sizes()[3],
          .value_size = v.sizes()[3],
          .causal = options.causal,
          .dropout = options.dropout > 0};
}

struct Attended {
  Value out, row_sums;
  std::array<Value, 2> random;
};

Attended attend(Machine& m, const Value& q, const Value& k, const Value& v, AttentionForm form,
                const AttentionOptions& options) {
  Attended made{.out = attention_result(m, q, v, form), .row_sums = {}, .random = {}};
  for (Value& number : made.random) number = m.allocate(DType::kInt64, {});
  Dim rows = q.sizes()[kSequence];
  if (form == AttentionForm::kMemoryEfficient)
    rows = ceil_div(rows, m.policy().attention.row_padding) * Dim(m.policy().attention.row_padding);
  made.row_sums = m.allocate(DType::kFloat32, {q.sizes()[0], q.sizes()[1], rows});
  launch_attention(m, Pass::kForward, problem_of(q, k, v, form, options),
                   q.bytes() + k.bytes() + v.bytes(), made.out.bytes(), q.dtype(), {&q, &k, &v},
                   {&made.out});
  return made;
}

// _SDPAMerger: a weighted mean of what turns made, in 32 bits.
class Merged {
 public:
  explicit Merged(Machine& m) : m_(m) {}

  void add(const Attended& turn, bool half) {
    const Value out = cast(m_, turn.out, DType::kFloat32);
    const Value sums = unsqueeze(m_, turn.row_sums, 3);
    if (!out_.defined()) {
      out_ = out;
      sums_ = sums;
      return;
    }
    const Value out_before = half ? second_half(m_, out_) : out_;
    const Value sums_before = half ? second_half(m_, sums_) : sums_;
    Value mean = weighted(out_before, out, sums_before, sums);
    Value total;
    {
      const Value difference = of("sub", sums_before, sums);
      const Value logarithm = of("logsigmoid", difference);
      total = of("sub", sums_before, logarithm);
    }
    sums_ = half ? with_second_half(sums_, total) : total;
    total = {};
    out_ = half ? with_second_half(out_, mean) : std::move(mean);
  }

  Value out(DType dtype) { return cast(m_, std::exchange(out_, {}), dtype); }
  Value row_sums() { return squeeze(m_, std::exchange(sums_, {}), {3}); }

 private:
  template <class... Operands>
  Value of(const char* op, const Operands&... operands) {
    const Value read[] = {operands...};
    return elementwise(m_, op, read, DType::kFloat32);
  }
  Value weighted(const Value& before, const Value& now, const Value& sums_before,
                 const Value& sums) {
    Value share = of("sub", sums, sums_before);
    share = of("sigmoid", share);
    Value difference = of("sub", before, now);
    Value product = of("mul", share, difference);
    share = difference = {};
    return of("sub", before, product);
  }
  Value with_second_half(const Value& whole, const Value& half) {
    Value made = m_.allocate(DType::kFloat32, whole.sizes());
    const Value read[] = {whole, half};
    m_.launch_over(KernelClass::kCopy, "cat", 0, read, made);
    return made;
  }

  Machine& m_;
  Value out_, sums_;
};

// Gradients that go around with the keys and values that they are of, in 32 bits.
class RingBackward {
 public:
  RingBackward(Machine& m, const GradNode& n, const Value& g, AttentionForm form,
               const AttentionOptions& options)
      : m_(m), n_(n), g_(g), form_(form), options_(options) {}

  Gradients run() {
    const int64_t ranks = ranks_of(m_);
    const int64_t rank = m_.recipe().parallel.mesh.coordinate(Axis::kContext);
    const Value& q = n_.saved(0);
    dq_ = fill(m_, DType::kFloat32, q.sizes());
    dk_ = fill(m_, DType::kFloat32, n_.saved(1).sizes());
    dv_ = fill(m_, DType::kFloat32, n_.saved(2).sizes());
    Value k = contiguous(m_, n_.saved(1).detached()), v = contiguous(m_, n_.saved(2).detached());
    Rotation keys(m_, m_.recipe().parallel.context_by), gradients(m_, ContextBy::kRing);
    Value sent;
    for (int64_t i = 0; i < ranks; ++i) {
      if (i > 0) {
        const Value& next = keys.next();
        k = window(m_, next, k, k.dtype());
        v = window(m_, next, v, v.dtype());
      }
      if (i + 1 < ranks) {
        sent = joined(m_, k, v);
        keys.send(sent);
      }
      turn(turn_of(i, rank, options_.causal), k, v, i > 0 ? &gradients : nullptr);
      passed_on_ = joined(m_, dk_, dv_);
      gradients.send(passed_on_);
      add_queries(turn_of(i, rank, options_.causal));
    }
    return results(gradients);
  }

 private:
  void turn(const Turn& t, const Value& k, const Value& v, Rotation* gradients) {
    const Value q = t.half_queries ? second_half(m_, n_.saved(0).detached()) : n_.saved(0);
    const Value keys = t.half_keys ? first_half(m_, k) : k;
    const Value values = t.half_keys ? first_half(m_, v) : v;
    Value row_sums;
    if (t.half_queries) row_sums = contiguous(m_, second_half(m_, unsqueeze(m_, n_.saved(4), 3)));
    operands_ = {keys, values, row_sums};  // names that hold them until the next turn has its own
    AttentionOptions options = options_;
    options.causal = t.causal;
    const Value dq = attention_result(m_, q, q, form_),
                dk = attention_result(m_, keys, keys, form_),
                dv = attention_result(m_, values, values, form_);
    const Dim operands = q.bytes() + keys.bytes() + values.bytes();
    launch_attention(m_, Pass::kBackward, problem_of(q, keys, values, form_, options),
                     operands + Dim(2) * q.bytes(), operands, q.dtype(),
                     {&g_, &q, &keys, &values, &row_sums}, {&dq, &dk, &dv});
    more_dq_ = dq;
    more_dk_ = dk;
    more_dv_ = dv;
    if (gradients) {
      const Value& next = gradients->next();
      passed_on_ = {};
      dk_ = window(m_, next, dk_, DType::kFloat32);
      dv_ = window(m_, next, dv_, DType::kFloat32);
    }
    add_to(dk_, more_dk_, t.half_keys);
    add_to(dv_, more_dv_, t.half_keys);
  }

  void add_queries(const Turn& t) { add_to(dq_, more_dq_, t.half_queries); }

  // _partial_update: of a half, which is joined to the other anew.
  void add_to(Value& sum, const Value& more, bool half) {
    m_.launch_rows(KernelClass::kPointwise, "add", more.count(), {&sum, &more}, {&sum});
    if (!half) return;
    const Value read[] = {sum};
    Value whole = m_.allocate(DType::kFloat32, sum.sizes());
    m_.launch_over(KernelClass::kCopy, "cat", 0, read, whole);
    sum = std::move(whole);
  }

  Gradients results(Rotation& gradients) {
    Gradients out(4);
    out[0] = cast(m_, std::exchange(dq_, {}), n_.saved(0).dtype());
    const Value last = cast(m_, gradients.next(), n_.saved(1).dtype());
    passed_on_ = {};
    out[1] = window(m_, last, n_.saved(1), last.dtype());
    out[2] = window(m_, last, n_.saved(2), last.dtype());
    return out;
  }

  Machine& m_;
  const GradNode& n_;
  const Value& g_;
  AttentionForm form_;
  const AttentionOptions& options_;
  Value dq_, dk_, dv_, more_dq_, more_dk_, more_dv_, passed_on_;
  std::array<Value, 3> operands_;
};

Attended all_turns(Machine& m, const AttentionOperands& o, AttentionForm form,
                   const AttentionOptions& options) {
  const int64_t ranks = ranks_of(m);
  const int64_t rank = m.recipe().parallel.mesh.coordinate(Axis::kContext);
  Value k = contiguous(m, o.k), v = contiguous(m, o.v);
  Rotation keys(m, m.recipe().parallel.context_by);
  Merged merged(m);
  Attended one, first;
  Value sent, keys_of_turn, values_of_turn;  // names that hold them until the next turn has its own
  for (int64_t i = 0; i < ranks; ++i) {
    if (i > 0) {
      const Value& next = keys.next();
      k = window(m, next, k, k.dtype());
      v = window(m, next, v, v.dtype());
    }
    if (i + 1 < ranks) {
      sent = joined(m, k, v);
      keys.send(sent);
    }
    const Turn t = turn_of(i, rank, options.causal);
    AttentionOptions here = options;
    here.causal = t.causal;
    keys_of_turn = t.half_keys ? first_half(m, k) : k;
    values_of_turn = t.half_keys ? first_half(m, v) : v;
    one = attend(m, t.half_queries ? second_half(m, o.q) : o.q, keys_of_turn, values_of_turn, form,
                 here);
    if (i == 0) first.random = one.random;
    merged.add(one, t.half_queries);
  }
  first.out = merged.out(o.q.dtype());
  first.row_sums = merged.row_sums();
  return first;
}

}  // namespace

bool shares_sequence(const Machine& m) {
  return ranks_of(m) > 1 && m.recipe().parallel.context_by != ContextBy::kUlysses;
}

bool shares_heads(const Machine& m) {
  return ranks_of(m) > 1 && m.recipe().parallel.context_by == ContextBy::kUlysses;
}

Value ring_attention(Machine& m, const AttentionOperands& o, AttentionForm form,
                     const AttentionOptions& options) {
  const Value inputs[] = {o.q, o.k, o.v, {}};
  const AttentionOperands detached{o.q.detached(), o.k.detached(), o.v.detached(), {}};
  Attended made = all_turns(m, detached, form, options);
  if (!m.tracks(inputs)) return made.out;
  std::vector<Kept> kept{{o.q, "attention keeps its queries"},
                         {o.k, "attention keeps its keys"},
                         {o.v, "attention keeps its values"},
                         {made.out, "attention keeps its result"},
                         {made.row_sums, "attention keeps the log of its row sums"}};
  for (const Value& number : made.random)
    kept.push_back({number, "attention keeps its random state"});
  m.record(made.out, inputs, std::move(kept),
           [form, options](Machine& mm, const Gradients& g, const GradNode& n) {
             return RingBackward(mm, n, g[0], form, options).run();
           });
  return made.out;
}

AttentionOperands with_whole_sequence(Machine& m, const AttentionOperands& o) {
  const auto whole = [&](const Value& x) {
    return exchanged(m, x, resized(x.sizes(), kSequence, x.sizes()[kSequence] * Dim(ranks_of(m))),
                     Axis::kContext, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter);
  };
  return {o.q, whole(o.k), whole(o.v), o.mask};
}

Value attention_of_heads(Machine& m, const AttentionOperands& o, const AttentionOptions& options) {
  const Dim ranks(ranks_of(m));
  const auto swapped = [&](const Value& x, bool back) {
    Shape sizes = x.sizes();
    sizes[kHeads] = back ? sizes[kHeads] * ranks : floor_div(sizes[kHeads], ranks);
    sizes[kSequence] = back ? floor_div(sizes[kSequence], ranks) : sizes[kSequence] * ranks;
    return exchanged(m, contiguous(m, x), sizes, Axis::kContext, CollectiveKind::kAllToAll,
                     CollectiveKind::kAllToAll);
  };
  const AttentionOperands heads{swapped(o.q, false), swapped(o.k, false), swapped(o.v, false), {}};
  return swapped(attention_over(m, heads, options), true);
}

}  // namespace plimsoll::eager
