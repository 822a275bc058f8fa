// DistinctKernels: what the kernels of many steps come to. The recipes of a sweep share nearly all
// of theirs (an optimizer is a kernel or two), so those are bound, and priced, once.
//
//   DistinctKernels distinct;
//   for (const Step& step : steps) which.push_back(distinct.add(step));
//   distinct.at(points, [&](std::span<const KernelAt> kernel) { ... });  // one after the other
//   time[which[recipe][launch.id]]
//
// Cost: adding, about two evaluations of each new kernel; binding, some 30 ns a kernel and point.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph/ir/step.h"
#include "graph/symbol/tape.h"

namespace plimsoll {

class DistinctKernels {
 public:
  DistinctKernels() = default;
  DistinctKernels(const DistinctKernels&) = delete;
  DistinctKernels& operator=(const DistinctKernels&) = delete;

  // Which of them each of the step's kernels is, by KernelId. The step outlives this.
  std::vector<size_t> add(const Step& step);
  size_t size() const { return kernels_.size(); }

  // `use` is given one after the other, each at all points, good until it returns. One kernel's
  // points stay in the processor's cache, which a sweep's kernels do not fit. E131 for an unbound
  // symbol, E232 for a count beyond 64 bits.
  Result<void> at(std::span<const Binding> points,
                  const std::function<void(std::span<const KernelAt>)>& use);

 private:
  struct Count {
    Tape::Slot slot;
    int64_t* place;  // in its kernel's `bound`
  };
  struct Distinct {
    const Kernel* kernel;
    KernelAt bound;  // what no symbol changes is written once
    std::vector<Count> counts;
  };
  struct Hash {
    size_t operator()(const Kernel* kernel) const { return hash_of(*kernel); }
  };
  struct Same {
    bool operator()(const Kernel* a, const Kernel* b) const { return *a == *b; }
  };

  void append(const Kernel& kernel);
  Diagnostics failure_at(std::span<const Binding> points) const;

  std::deque<Distinct> kernels_;  // each stays where it is
  std::unordered_map<const Kernel*, size_t, Hash, Same> numbers_;
  Tape tape_;
};

}  // namespace plimsoll
