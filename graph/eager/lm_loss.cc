#include "graph/eager/lm_loss.h"

#include <utility>
#include <vector>

#include "graph/eager/autocast.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// Moved by one place in a copy: of all positions, or of those `before` the last.
Value next_tokens(Machine& m, const Value& values, bool before = false) {
  Shape sizes = values.sizes();
  sizes.pop_back();
  const Value labels = m.resident(DType::kInt64, sizes, Role::kInput);
  if (before) sizes.back() = sizes.back() - Dim(1);
  const Value moved = m.allocate(DType::kInt64, sizes);
  m.launch_rows(KernelClass::kCopy, "copy", 0, {&labels}, {&moved});
  return view(m, moved, {moved.count()});
}

Value rows_of(Machine& m, const Value& x) {
  return reshape(m, x, {floor_div(x.count(), x.sizes().back()), x.sizes().back()});
}

// torch.tensor_split(): the first parts are one longer where parts cannot be equal.
std::vector<Dim> part_lengths(const Dim& whole, int64_t parts) {
  std::vector<Dim> lengths;
  for (int64_t i = 0; i < parts; ++i) lengths.push_back(floor_div(whole + (parts - 1 - i), parts));
  return lengths;
}

std::vector<Value> parts_of(Machine& m, const Value& x, size_t axis, int64_t parts) {
  std::vector<Value> slices;
  Dim begin = 0;
  for (const Dim& length : part_lengths(x.sizes()[axis], parts)) {
    slices.push_back(slice(m, x, axis, begin, length, 1));
    begin = begin + length;
  }
  return slices;
}

// F.cross_entropy(scores.float(), targets, reduction="sum").
Value loss_of_part(Machine& m, const Value& scores, const Value& targets) {
  const Value wide = cast(m, rows_of(m, scores), DType::kFloat32);
  const AutocastPause pause(m);
  return nll(m, softmax(m, wide, 1, true), view(m, targets, {targets.count()}));
}

// All are there until the last one has its copy.
std::vector<Value> widened(Machine& m, const std::vector<Value>& parts) {
  std::vector<Value> wide;
  for (const Value& part : parts) wide.push_back(cast(m, part, DType::kFloat32));
  return wide;
}

// The hidden states of positions that have a target: of all, where nothing is masked.
Value with_target(Machine& m, const Value& rows, const Value& targets) {
  const Value indices = m.allocate(DType::kInt64, {rows.sizes()[0]});
  m.launch_rows(KernelClass::kReduce, "nonzero", 0, {&targets}, {&indices});
  return gather(m, "index_select", rows, indices, rows.sizes(), false);
}

// Of Liger's chunks: a power of two of positions.
Dim positions_at_once(Machine& m, const Dim& positions, const Dim& classes, const Dim& features) {
  const Dim wanted = ceil_div(positions, ceil_div(classes, features));
  int64_t size = 1;
  while (m.decider().less(Dim(size), wanted)) size *= 2;
  return size;
}

struct HeadGradients {
  Value hidden, weight;
};

// A part's scores, their gradient in their place, and what becomes of it.
void add_gradients(Machine& m, const Value& hidden, const Value& weight, const ScoresOf& scores_of,
                   const Value& targets, const HeadGradients& gradients) {
  const Value scores = rows_of(m, scores_of(hidden));
  const Dim rows = scores.sizes()[0];
  m.launch_rows(KernelClass::kSoftmax, "softmax_loss", scores.count() * Dim(5), {&scores, &targets},
                {&scores}, rows);
  {
    const Value dx = mm(m, scores, weight);
    m.launch_rows(KernelClass::kCopy, "copy", 0, {&dx}, {&dx});
  }
  if (!gradients.weight.defined()) return;
  const Value product = mm(m, transpose(m, scores, 0, 1), hidden);
  const Value wide = cast(m, product, DType::kFloat32);
  m.launch_rows(KernelClass::kPointwise, "add", wide.count(), {&gradients.weight, &wide},
                {&gradients.weight});
}

// All but the last position's, copied, as rows.
Value rows_before_last(Machine& m, const Value& scores) {
  const size_t axis = scores.rank() - 2;
  const Dim before = scores.sizes()[axis] - Dim(1);
  return rows_of(m, clone(m, slice(m, scores, axis, 0, before, 1)));
}

}  // namespace

Value shifted_causal_lm(Machine& m, const Value& scores, bool narrow) {
  const Value x = narrow ? scores : cast(m, scores, DType::kFloat32);
  const Value rows = rows_before_last(m, x);
  const Value targets = next_tokens(m, scores, true);
  if (narrow) return nll(m, softmax(m, rows, 1, true), targets);
  const Value log_probabilities = [&] {
    const AutocastPause pause(m);
    return softmax(m, rows, 1, true);
  }();
  return nll(m, log_probabilities, targets);
}

Value fused_causal_lm(Machine& m, const Value& scores, bool narrow) {
  const bool shifts = m.recipe().shifts_scores;
  const Value wide = shifts && !narrow ? cast(m, scores, DType::kFloat32) : scores;
  const Value x = shifts ? rows_before_last(m, wide) : rows_of(m, wide);
  const Value targets = next_tokens(m, scores, shifts);
  const Dim rows = x.sizes()[0];
  const Value sums = m.allocate(DType::kFloat32, {rows});
  Value losses = m.allocate(DType::kFloat32, {rows});
  m.launch_rows(KernelClass::kSoftmax, "softmax_loss", x.count() * Dim(5), {&x, &targets},
                {&losses, &sums}, rows);
  const Value inputs[] = {x};
  m.record(losses, inputs,
           {{x, "the loss keeps the scores"},
            {sums, "the loss keeps the log of its row sums"},
            {targets, "the loss keeps its targets"}},
           [rows](Machine& mm, const Gradients&, const GradNode& n) {
             const Value& dx = n.saved(0);
             mm.launch_rows(KernelClass::kSoftmax, "softmax_loss", dx.count(),
                            {&dx, &n.saved(1), &n.saved(2)}, {&dx}, rows);
             return Gradients{dx};
           });
  return sum_all(m, losses);
}

Value chunked_causal_lm(Machine& m, const Value& hidden, const ScoresOf& scores_of, int64_t chunks,
                        bool together, const Returned& returned) {
  const Value targets = next_tokens(m, hidden);
  const std::vector<Value> target_parts = parts_of(m, targets, 0, chunks);
  std::vector<Value> parts;
  if (together) {
    parts = parts_of(m, with_target(m, rows_of(m, hidden), targets), 0, chunks);
  } else {
    for (const Value& part : parts_of(m, hidden, hidden.rank() - 2, chunks))
      parts.push_back(scores_of(part));
    if (m.recipe().widened_outputs == WidenedOutputs::kFabric) parts = widened(m, parts);
    if (returned) returned(parts);
  }
  Value total;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Value loss = loss_of_part(m, together ? scores_of(parts[i]) : parts[i], target_parts[i]);
    total = total.defined() ? add(m, total, loss) : loss;
  }
  return total;
}

Value fused_linear_causal_lm(Machine& m, const Value& hidden, const Value& weight,
                             const ScoresOf& scores_of) {
  const Value targets = next_tokens(m, hidden);
  const Value rows = rows_of(m, hidden);
  const Dim& positions = rows.sizes()[0];
  HeadGradients made;
  const Value losses = m.allocate(DType::kFloat32, {positions});
  {
    const Value inputs[] = {rows, weight};
    const bool tracked = m.tracks(inputs);
    const bool had = m.grad_enabled();
    m.set_grad_enabled(false);
    made.hidden = fill(m, rows.dtype(), rows.sizes());
    if (tracked && weight.requires_grad()) made.weight = fill(m, weight.dtype(), weight.sizes());
    const Dim size = positions_at_once(m, positions, weight.sizes()[0], weight.sizes()[1]);
    for (Dim begin = 0; m.decider().less(begin, positions); begin = begin + size) {
      const bool last = !m.decider().less(begin + size, positions);
      const Dim length = last ? positions - begin : size;
      add_gradients(m, slice(m, rows, 0, begin, length, 1), weight, scores_of,
                    slice(m, targets, 0, begin, length, 1), made);
    }
    m.set_grad_enabled(had);
  }
  Value loss = m.allocate(DType::kFloat32, {});
  m.launch_rows(KernelClass::kReduce, "sum", losses.count(), {&losses}, {&loss});
  const Value inputs[] = {rows, weight};
  m.record(loss, inputs,
           {{made.hidden, "the loss keeps the gradient it made"},
            {made.weight, "the loss keeps the gradient it made"}},
           [](Machine& mm, const Gradients&, const GradNode& n) {
             Gradients out(2);
             for (size_t i = 0; i < 2; ++i) {
               if (!n.needs(i) || !n.saved(i).defined()) continue;
               out[i] = n.saved(i);
               mm.launch_rows(KernelClass::kPointwise, "mul", out[i].count(), {&out[i]}, {&out[i]});
             }
             return out;
           });
  return loss;
}

void score_metric(Machine& m, const Value& scores) {
  const Value wide = cast(m, rows_of(m, scores), DType::kFloat32);
  const Value targets = m.allocate(DType::kInt64, {wide.sizes()[0]});
  const AutocastPause pause(m);
  nll(m, softmax(m, wide, 1, true), targets);
}

}  // namespace plimsoll::eager
