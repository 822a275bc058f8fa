// Sums, means, extrema: over axes that a call says or its shapes show.
#include <algorithm>
#include <utility>

#include "graph/record/recorded_kernels.h"

namespace plimsoll::recorded {
namespace {

// Its axis counted from the front, where the call says which.
bool reduces(const RecordedCall& call, size_t axis, size_t rank) {
  const auto stated = call.facts.find("dim");
  if (stated == call.facts.end()) return false;
  return std::ranges::any_of(stated->second, [&](const Dim& dim) {
    const int64_t at = dim.constant().value_or(0);
    return at == static_cast<int64_t>(axis) || at + static_cast<int64_t>(rank - axis) == 0;
  });
}

// Whether the axis along which x lies is left: results are a matrix's columns. Where the call does
// not say its axes the first are taken to be gone, if that is what remains.
bool keeps_fastest_axis(const RecordedCall& call, const RecordedTensor& x,
                        const RecordedTensor& y) {
  const Shape& from = x.type.shape;
  const Shape& to = y.type.shape;
  if (from.size() < 2 || to.empty() || count(y) == count(x)) return false;
  size_t fastest = from.size() - 1;
  if (x.order == MemoryOrder::kChannelsLast) fastest = 1;
  if (x.order == MemoryOrder::kTransposed) fastest = from.size() - 2;
  if (from[fastest] == Dim(1)) return false;
  if (call.facts.contains("dim")) return !reduces(call, fastest, from.size());
  const size_t gone = from.size() - std::min(to.size(), from.size());
  return fastest >= gone && to[fastest - gone] == from[fastest];
}

// As the kernels are called that share their columns (estimator/library/workspace).
std::string column_label(const RecordedCall& call, const Priced& p) {
  if (call.op.starts_with("var") || call.op.starts_with("std")) return "column_var";
  if (call.op == "argmax" || call.op == "argmin") return "column_" + call.op;
  return "column_" + p.label + (p.label == "max" && call.writes.size() > 1 ? "_position" : "");
}

}  // namespace

Kernels reduction(const RecordedCall& call, const Priced& p) {
  if (call.reads.empty()) return elementwise(call, p);
  Dim worked;
  for (const RecordedTensor* t : call.reads) worked += count(*t);
  const RecordedTensor& y = *call.writes.front();
  Kernel k = in_rows(kernel(call, p, worked), count(y), worked);
  if (call.reads.size() == 1 && keeps_fastest_axis(call, *call.reads.front(), y))
    k.op = column_label(call, p);
  return {std::move(k)};
}

// Of a list: a row for each of its tensors, as long as the largest.
Kernels norms(const RecordedCall& call, const Priced& p) {
  if (call.reads.empty()) return elementwise(call, p);
  Dim worked, largest;
  for (const RecordedTensor* t : call.reads) {
    worked += count(*t);
    largest = max(largest, count(*t));
  }
  Kernel k = kernel(call, p, worked);
  k.problem = RowsProblem<Dim>{static_cast<int64_t>(call.reads.size()), largest};
  return {std::move(k)};
}

}  // namespace plimsoll::recorded
