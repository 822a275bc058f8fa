#include <numeric>

#include "graph/eager/autocast.h"
#include "graph/eager/lm_loss.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

Value target_like(Machine& m, const Shape& sizes, DType dtype) {
  return m.resident(dtype, sizes, Role::kInput);
}

// Mean of an element-wise distance: keeps prediction and target.
Value mean_distance(Machine& m, const std::string& op, const Value& given, const Value& target) {
  const Value x = to_single(m, given);
  Value loss = m.allocate(x.dtype(), {});
  m.launch_rows(KernelClass::kReduce, op, x.count() * Dim(3), {&x, &target}, {&loss});
  const Value inputs[] = {x};
  m.record(loss, inputs, {{x, "the loss keeps its input"}, {target, "the loss keeps its target"}},
           [op](Machine& mm, const Gradients&, const GradNode& n) {
             const Value parts[] = {n.saved(0), n.saved(1)};
             return Gradients{elementwise(mm, op, parts, n.saved(0).dtype(), 2)};
           });
  return loss;
}

}  // namespace

namespace {

// The probabilities take the scores' place, unless somebody else keeps these.
Value fused_cross_entropy(Machine& m, const Value& scores, const Value& targets) {
  const Dim rows = targets.count();
  Value loss = m.allocate(scores.dtype(), {});
  m.launch_rows(KernelClass::kSoftmax, "softmax_loss", scores.count() * Dim(5), {&scores, &targets},
                {&scores}, rows);
  const Value inputs[] = {scores};
  m.record(loss, inputs,
           {{scores.detached(), "the loss keeps the probabilities, in place of the scores"},
            {targets, "the loss keeps its targets"}},
           [rows](Machine& mm, const Gradients&, const GradNode& n) {
             Value dx = mm.allocate(n.saved(0).dtype(), n.saved(0).sizes());
             mm.launch_rows(KernelClass::kSoftmax, "softmax_loss", dx.count(),
                            {&n.saved(0), &n.saved(1)}, {&dx}, rows);
             return Gradients{dx};
           });
  return loss;
}

}  // namespace

namespace {

// log-softmax, then the negative log-likelihood of the targets. The log-softmax inside names its
// type, hence is not widened under autocast; its result is.
Value of_scores(Machine& m, const Value& scores, const Value& targets, size_t axis, bool split) {
  if (split) {
    const AutocastPause pause(m);
    return split_cross_entropy(m, scores, targets);
  }
  const Value log_probabilities = [&] {
    const AutocastPause pause(m);
    return softmax(m, scores, axis, true);
  }();
  return nll(m, log_probabilities, targets);
}

}  // namespace

// Sequences are flattened to rows.
Value cross_entropy(Machine& m, const Value& logits, size_t axis, bool split) {
  Value scores = logits;
  if (axis + 1 == logits.rank() && logits.rank() > 2) {
    const Dim classes = logits.sizes()[axis];
    scores = reshape(m, logits, {floor_div(logits.count(), classes), classes});
    axis = 1;
  }
  Shape target_sizes = scores.sizes();
  target_sizes.erase(target_sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  const Value targets = target_like(m, target_sizes, DType::kInt64);
  if (m.policy().fused_softmax_loss) return fused_cross_entropy(m, scores, targets);
  return of_scores(m, scores, targets, axis, split);
}

Value causal_lm(Machine& m, const Value& logits, bool split, bool narrow) {
  if (m.recipe().shifts_scores && !split) return shifted_causal_lm(m, logits, narrow);
  const Value scores = cast(m, logits, DType::kFloat32);
  Shape sizes = scores.sizes();
  const Dim classes = sizes.back();
  sizes.pop_back();
  const Value labels = target_like(m, sizes, DType::kInt64);
  Shape longer = sizes;
  longer.back() += Dim(1);
  const Value padded = rearrange(m, "pad", labels, longer);
  const Value shifted = clone(m, slice(m, padded, sizes.size() - 1, 1, sizes.back(), 1));
  const Value rows = reshape(m, scores, {floor_div(scores.count(), classes), classes});
  return of_scores(m, rows, view(m, shifted, {shifted.count()}), 1, split);
}

Value nll(Machine& m, const Value& given, const Value& targets, bool reduced) {
  const Value log_probabilities = to_single(m, given);
  Value loss = m.allocate(log_probabilities.dtype(), reduced ? Shape{} : targets.sizes());
  Value total_weight = m.allocate(log_probabilities.dtype(), {});
  m.launch_rows(KernelClass::kReduce, "nll_loss", targets.count(), {&targets}, {&loss});
  const Value inputs[] = {log_probabilities};
  m.record(loss, inputs,
           {{log_probabilities, "the loss keeps the log-probabilities"},
            {targets, "the loss keeps its targets"},
            {total_weight, "the loss keeps its total weight"}},
           [](Machine& mm, const Gradients&, const GradNode& n) {
             Value dx = fill(mm, n.saved(0).dtype(), n.saved(0).sizes());
             return Gradients{dx};
           });
  return loss;
}

// The library computes the gradient beside the loss and keeps it (ATen/native/cudnn/LossCTC.cpp),
// in 32 bits alone; ATen's own kernels keep as much (ATen/native/cuda/LossCTC.cu, log_alpha).
Value ctc(Machine& m, const Value& given) {
  const Value scores = cast(m, given, DType::kFloat32);
  const Value log_probabilities = softmax(m, scores, scores.rank() - 1, true);
  Value loss = m.allocate(scores.dtype(), {});
  const Value gradient = m.allocate(scores.dtype(), scores.sizes());
  m.launch_rows(KernelClass::kReduce, "ctc_loss", scores.count() * Dim(8), {&log_probabilities},
                {&loss, &gradient});
  const Value inputs[] = {log_probabilities};
  m.record(loss, inputs, {{gradient, "the loss keeps the gradient it made"}},
           [](Machine& mm, const Gradients& g, const GradNode& n) {
             const Value parts[] = {n.saved(0), g[0]};
             return Gradients{elementwise(mm, "mul", parts, n.saved(0).dtype())};
           });
  return loss;
}

Value mse(Machine& m, const Value& x, const Value& target) {
  return mean_distance(m, "mse_loss", x,
                       target.defined() ? target : target_like(m, x.sizes(), x.dtype()));
}

Value bce(Machine& m, const Value& x, const Value& target) {
  return mean_distance(m, "bce_loss", x,
                       target.defined() ? target : target_like(m, x.sizes(), x.dtype()));
}

Value sum_all(Machine& m, const Value& x) {
  std::vector<size_t> axes(x.rank());
  std::iota(axes.begin(), axes.end(), size_t{0});
  return reduce(m, "sum", x, axes, false, Reduction::kSum);
}

}  // namespace plimsoll::eager
