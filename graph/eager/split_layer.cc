#include "graph/eager/split_layer.h"

#include <utility>

namespace plimsoll::eager {
namespace {

int64_t ranks(const Machine& m) { return m.policy().sharding.data_ranks; }

// A tensor of this layout that the devices' exchange fills; `bytes` of the larger of both.
Value exchanged(Machine& m, CollectiveKind kind, const Value& from, const Shape& sizes) {
  Value to = m.allocate(from.dtype(), sizes);
  const bool grows = kind == CollectiveKind::kAllGather;
  m.await(m.issue({.kind = kind, .bytes = grows ? to.bytes() : from.bytes()}));
  return to;
}

// Records `y` of x, whose gradient comes by another exchange.
Value recorded(Machine& m, const Value& x, Value y, CollectiveKind back) {
  const Value inputs[] = {x};
  m.record(y, inputs, {}, [back](Machine& mm, const Gradients& g, const GradNode& n) {
    return Gradients{exchanged(mm, back, g[0], n.edges[0].input->sizes)};
  });
  return y;
}

}  // namespace

Dim part_of(const Machine& m, const Dim& outputs) {
  return floor_div(outputs + (ranks(m) - 1), ranks(m));
}

Value gather_samples(Machine& m, const Value& x) {
  Shape sizes = x.sizes();
  sizes.front() *= ranks(m);
  Value all = exchanged(m, CollectiveKind::kAllGather, x, sizes);
  return recorded(m, x, std::move(all), CollectiveKind::kReduceScatter);
}

Value gather_outputs(Machine& m, const Value& parts, const Dim& outputs) {
  Shape sizes = parts.sizes();
  sizes.front() = floor_div(sizes.front(), ranks(m));
  sizes.back() = outputs;
  Value own = exchanged(m, CollectiveKind::kAllToAll, parts, sizes);
  return recorded(m, parts, std::move(own), CollectiveKind::kAllToAll);
}

}  // namespace plimsoll::eager
