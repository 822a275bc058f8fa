// estimator: the only room where work meets machine. It prices a Step on a Device under a
// framework's habits, and owns the report, the `plimsoll` command and the Python binding, which are
// views of its results. It never links CUDA.
//
// BoundStep: a Step at a point: every buffer's bytes and every distinct kernel as numbers.
#pragma once

#include <optional>
#include <vector>

#include "graph/ir/step.h"
#include "graph/symbol/tape.h"

namespace plimsoll {

struct BoundStep {
  std::vector<int64_t> buffer_bytes;  // as asked for, by BufferId
  std::vector<KernelAt> kernels;      // by KernelId
  std::vector<int64_t> collective_bytes;
  std::vector<int64_t> at_first_bytes{};  // of Step::at_first
  std::vector<int64_t> on_host_bytes{};   // of Step::on_host
};

// E131 for an unbound symbol, E232 for a size beyond 64 bits. Does not look at guards: see
// guards_hold().
Result<BoundStep> bind_step(const Step& step, const Binding& binding);

// Binds one step at many points: what no symbol changes is written once.
//
//   StepBinder at(step);  // the step outlives it
//   for (binding[batch] = 1; ...) auto bound = at(binding);
//
// Cost: that of bind_step() once, then some 10 ns for each count that symbols change; asked for the
// same point again, nothing.
class StepBinder {
 public:
  explicit StepBinder(const Step& step);
  StepBinder(const StepBinder&) = delete;
  StepBinder& operator=(const StepBinder&) = delete;

  // As bind_step(); good until the next call.
  Result<const BoundStep*> operator()(const Binding& binding);

 private:
  struct Count {
    Tape::Slot slot;
    int64_t* place;  // in bound_
  };

  const Step& step_;
  Tape tape_;
  BoundStep bound_;
  std::vector<Count> counts_;
  std::optional<Binding> at_;  // where it is bound
};

// Whose buffer or kernel has no value at this binding; kNoNode where no node's is. For messages.
NodeId unbindable_node(const Step& step, const Binding& binding);

// Whether the step is the one that would be compiled at this binding.
bool guards_hold(const Step& step, const Binding& binding);

}  // namespace plimsoll
