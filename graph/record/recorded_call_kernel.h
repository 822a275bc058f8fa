// A recorded call as one kernel: what the families of operators (recorded_kernels.h) begin with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/ir/kernel.h"
#include "graph/record/recorded_call.h"

namespace plimsoll::recorded {

// What the operator's row says.
struct Priced {
  KernelClass kernel_class = KernelClass::kPointwise;
  std::string label;
  int64_t flop = 1;  // an element
  Pass pass = Pass::kForward;
  TensorCoreUse use;
};

inline Dim count(const RecordedTensor& t) { return elements(t.type.shape); }
inline Dim size(const RecordedTensor& t) { return bytes(t.type); }
inline Dim size(const std::vector<const RecordedTensor*>& tensors) {
  Dim total;
  for (const RecordedTensor* t : tensors) total += size(*t);
  return total;
}
// What a call reads comes from memory once, also where it is given twice, as addcmul_() of Adam
// is the gradient.
inline Dim read_of(const RecordedCall& call) {
  Dim total = size(call.reads);
  const auto again = call.facts.find("again");
  if (again == call.facts.end()) return total;
  for (const Dim& at : again->second) {
    const auto place = static_cast<size_t>(at.constant().value_or(-1));
    if (place < call.reads.size()) total -= size(*call.reads[place]);
  }
  return total;
}
inline size_t rank(const RecordedTensor& t) { return t.type.shape.size(); }

// Of the type of its first result; reads and writes all that the call does.
inline Kernel kernel(const RecordedCall& call, const Priced& p, const Dim& elements_worked) {
  return {.kernel_class = p.kernel_class,
          .pass = p.pass,
          .dtype = call.writes.front()->type.dtype,
          .op = p.label,
          .flop = elements_worked * Dim(p.flop),
          .read = read_of(call),
          .written = size(call.writes)};
}

// `all` elements in groups.
inline Kernel in_rows(Kernel k, const Dim& rows, const Dim& all) {
  k.problem = RowsProblem<Dim>{rows, rows == Dim(1) ? all : floor_div(all, rows)};
  return k;
}

inline Priced fill_of(const Priced& p) {
  return {
      .kernel_class = KernelClass::kCopy, .label = "fill", .flop = 0, .pass = p.pass, .use = p.use};
}

}  // namespace plimsoll::recorded
