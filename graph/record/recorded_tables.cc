// What is looked up by indices, and what is added or put where they say.
#include <utility>

#include "graph/record/recorded_kernels.h"

namespace plimsoll::recorded {

Kernels gather(const RecordedCall& call, const Priced& p) {
  Kernel k = kernel(call, p, 0);
  Dim indices;
  for (size_t i = 1; i < call.reads.size(); ++i) indices += size(*call.reads[i]);
  k.read = indices + size(*call.writes.front());
  const Dim rows = call.reads.size() > 1 ? count(*call.reads[1]) : Dim(1);
  return {in_rows(std::move(k), rows, count(*call.writes.front()))};
}

// The gradient of a table is zeros, to which those of the rows that were looked up are added: as
// many as there are indices, or all of them.
Kernels table_gradient(const RecordedCall& call, const Priced& p) {
  if (call.reads.size() < 2 || rank(*call.reads[0]) == 0) return elementwise(call, p);
  const RecordedTensor& gradient = *call.reads[0];
  const RecordedTensor& indices = *call.reads[1];
  const RecordedTensor& table = *call.writes.front();
  const Dim& columns = gradient.type.shape.back();
  const Dim added = count(indices) * columns;
  Kernels kernels = filled(call, fill_of(p));
  Kernel k = kernel(call, p, added);
  k.read = size(gradient) + size(indices);
  k.written = min(size(table), bytes(table.type.dtype, added));
  k.problem = RowsProblem<Dim>{count(indices), columns};
  kernels.push_back(std::move(k));
  return kernels;
}

Kernels scatter(const RecordedCall& call, const Priced& p) {
  Dim given;
  for (const RecordedTensor* t : call.reads) given += count(*t);
  return {in_rows(kernel(call, p, given), 1, count(*call.writes.front()))};
}

// Of x, its indices and what is put. Values that are added are sorted by where they go, a row each;
// a record that does not say whether they are is of a gradient, in which they are.
Kernels put(const RecordedCall& call, const Priced& p) {
  Kernels kernels = scatter(call, p);
  if (call.reads.size() < 3) return kernels;
  const auto stated = call.facts.find("accumulate");
  const bool adds = stated == call.facts.end() ? p.pass == Pass::kBackward
                                               : stated->second == std::vector<Dim>{Dim(1)};
  if (!adds) return kernels;
  Dim rows = count(*call.reads[1]);
  for (size_t i = 2; i + 1 < call.reads.size(); ++i) rows = max(rows, count(*call.reads[i]));
  kernels.front().op = "index_put_accumulate";
  kernels.front() = in_rows(std::move(kernels.front()), rows, count(*call.reads.back()));
  return kernels;
}

// Writes the distinct elements, then where each of them went, if that is asked for.
Kernels unique(const RecordedCall& call, const Priced& p) {
  if (call.reads.empty()) return elementwise(call, p);
  Kernel k = kernel(call, p, count(*call.reads.front()));
  if (call.writes.size() > 1 && count(*call.writes[1]) != Dim(0)) k.op += "_inverse";
  return {in_rows(std::move(k), 1, count(*call.reads.front()))};
}

// torchvision's: columns of all channels under the filter, a row for each sample. Its gradient's
// reads begin with the result's, which is what its kernels turn round.
Kernels deformed(const RecordedCall& call, const Priced& p) {
  const size_t first = p.pass == Pass::kForward ? 0 : 1;
  if (call.reads.size() < first + 2 || rank(*call.reads[first]) != 4 ||
      rank(*call.reads[first + 1]) != 4)
    return elementwise(call, p);
  const RecordedTensor& y = first == 0 ? *call.writes.front() : *call.reads.front();
  const Shape& x = call.reads[first]->type.shape;
  const Shape& filter = call.reads[first + 1]->type.shape;
  const Shape& out = y.type.shape;
  if (out.size() != 4) return elementwise(call, p);
  const Dim products = count(y) * filter[1] * filter[2] * filter[3];
  Kernel k = kernel(call, p, products * Dim(first == 0 ? 1 : 2));
  if (first == 1) k.read = size(y);
  k.problem = RowsProblem<Dim>{out[0], x[1] * filter[2] * filter[3] * out[2] * out[3]};
  return {std::move(k)};
}

}  // namespace plimsoll::recorded
