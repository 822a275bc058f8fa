// Cross entropy of scores of which each rank along Axis::kTensor has its classes: maxima, sums and
// the targets' scores are told between ranks, a number a row.
#include <utility>

#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// Functional collectives work on a copy (torch/distributed/_functional_collectives.py).
Value summed_copy(Machine& m, const Value& x) {
  Value y = m.allocate(x.dtype(), x.sizes());
  m.await(m.issue({.axis = Axis::kTensor, .bytes = y.bytes(), .buffer = y.storage()->id()}));
  return y;
}

void sum_in_place(Machine& m, const Value& x) {
  m.await(m.issue({.axis = Axis::kTensor, .bytes = x.bytes(), .buffer = x.storage()->id()}));
}

Value of_rows(Machine& m, const std::string& op, const Value& scores) {
  return reduce(m, op, scores, {1}, true, Reduction::kSum);
}

// What is computed and not differentiated: the losses' derivatives are their own.
class WithoutGradient {
 public:
  explicit WithoutGradient(Machine& m) : m_(m), had_(m.grad_enabled()) {
    m_.set_grad_enabled(false);
  }
  ~WithoutGradient() { m_.set_grad_enabled(had_); }
  WithoutGradient(const WithoutGradient&) = delete;
  WithoutGradient& operator=(const WithoutGradient&) = delete;

 private:
  Machine& m_;
  bool had_;
};

// torch/distributed/tensor/parallel/loss.py, _log_softmax(): 16 bits are widened and narrowed.
Value log_probabilities_of(Machine& m, const Value& scores) {
  const WithoutGradient scope(m);
  const bool half = bits(scores.dtype()) <= 16;
  const Value x = half ? cast(m, scores, DType::kFloat32) : scores;
  const Value largest = summed_copy(m, of_rows(m, "amax", x));
  const Value parts[] = {x, largest};
  const Value shifted = elementwise(m, "sub", parts, x.dtype());
  const Value sum = [&] {
    const Value terms[] = {shifted};
    const Value exponentials = elementwise(m, "exp", terms, x.dtype());
    return summed_copy(m, of_rows(m, "sum", exponentials));
  }();
  const Value sums[] = {sum};
  const Value logarithms = elementwise(m, "log", sums, x.dtype());
  const Value operands[] = {shifted, logarithms};
  const Value result = elementwise(m, "sub", operands, x.dtype());
  return half ? cast(m, result, scores.dtype()) : result;
}

// ... _nll_loss_and_log_softmax_backward(): what stands in its names lives until it returns.
Value gradient_of_both(Machine& m, const Value& log_probabilities, const Value& targets) {
  const DType type = log_probabilities.dtype();
  const Value safe = m.allocate(DType::kInt64, targets.sizes());
  const Value zeros = fill(m, type, log_probabilities.sizes());
  const Value mask = m.allocate(DType::kBool, targets.sizes());
  const Value masked = m.allocate(DType::kInt64, targets.sizes());
  const Value update = m.allocate(type, targets.sizes());
  const Value places = m.allocate(DType::kInt64, targets.sizes());
  const Value given = m.allocate(type, targets.sizes());
  const Value sum = [&] {
    const Value terms[] = {log_probabilities};
    const Value parts[] = {zeros, elementwise(m, "exp", terms, type)};
    return elementwise(m, "add", parts, type);
  }();
  const Value factors[] = {sum, unsqueeze(m, given, 1)};
  return elementwise(m, "mul", factors, type);
}

Value dtensor_loss(Machine& m, const Value& scores, const Value& targets) {
  const Value log_probabilities = log_probabilities_of(m, scores);
  const Value picked = summed_copy(m, m.allocate(log_probabilities.dtype(), targets.sizes()));
  const Value total_weight = m.allocate(log_probabilities.dtype(), {});
  Value loss = m.allocate(log_probabilities.dtype(), {});
  m.launch_rows(KernelClass::kReduce, "nll_loss", targets.count(), {&targets, &picked}, {&loss});
  const Value inputs[] = {scores};
  m.record(loss, inputs,
           {{log_probabilities, "the loss keeps the log-probabilities"},
            {targets, "the loss keeps its targets"},
            {total_weight, "the loss keeps its total weight"}},
           [](Machine& mm, const Gradients&, const GradNode& n) {
             return Gradients{gradient_of_both(mm, n.saved(0), n.saved(1))};
           });
  return loss;
}

// Of megatron/core/tensor_parallel/cross_entropy.py: what it keeps, and the loss.
struct Exponentials {
  Value probabilities, mask, masked, loss;
};

// Scores in 32 bits become exponentials, then probabilities, in their place; where they are in 32
// bits already, in that of a copy (nanotron, parallel/tensor_parallel/functional.py).
Exponentials exponentials_of(Machine& m, const Value& scores, const Value& targets) {
  const WithoutGradient scope(m);
  const bool copies = scores.dtype() == DType::kFloat32;
  const Value x = copies ? scores : cast(m, scores, DType::kFloat32);
  const Value largest = of_rows(m, "amax", x);
  sum_in_place(m, largest);
  const Value parts[] = {x, largest};
  Exponentials made;
  made.probabilities = copies ? elementwise(m, "sub", parts, x.dtype()) : x;
  const Value& y = made.probabilities;
  if (!copies) m.launch_rows(KernelClass::kPointwise, "sub", y.count(), {&y, &largest}, {&y});
  made.mask = m.allocate(DType::kBool, targets.sizes());
  made.masked = m.allocate(DType::kInt64, targets.sizes());
  const Value picked = m.allocate(DType::kFloat32, targets.sizes());
  sum_in_place(m, picked);
  m.launch_rows(KernelClass::kPointwise, "exp", y.count(), {&y}, {&y});
  const Value sum = of_rows(m, "sum", y);
  sum_in_place(m, sum);
  made.loss = m.allocate(DType::kFloat32, {});
  m.launch_rows(KernelClass::kReduce, "cross_entropy", targets.count(), {&sum, &picked},
                {&made.loss});
  m.launch_rows(KernelClass::kPointwise, "div", y.count(), {&y, &sum}, {&y});
  return made;
}

// The gradient takes the probabilities' place.
Value megatron_loss(Machine& m, const Value& scores, const Value& targets) {
  Exponentials made = exponentials_of(m, scores, targets);
  const Value inputs[] = {scores};
  m.record(made.loss, inputs,
           {{made.probabilities, "the loss keeps the probabilities"},
            {made.mask, "the loss keeps which targets are other ranks'"},
            {made.masked, "the loss keeps its targets"}},
           [from = scores.dtype()](Machine& mm, const Gradients&, const GradNode& n) {
             const Value& dx = n.saved(0);
             const Value places = mm.allocate(DType::kInt64, n.saved(2).sizes());
             mm.launch_rows(KernelClass::kPointwise, "mul", dx.count(), {&dx, &places}, {&dx});
             return Gradients{cast(mm, dx, from)};
           });
  return made.loss;
}

}  // namespace

Value split_cross_entropy(Machine& m, const Value& scores, const Value& targets) {
  return m.recipe().parallel.split_loss == SplitLoss::kMegatron ? megatron_loss(m, scores, targets)
                                                                : dtensor_loss(m, scores, targets);
}

}  // namespace plimsoll::eager
