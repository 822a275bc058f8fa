#include "graph/eager/exchanged.h"

#include <utility>

namespace plimsoll::eager {
namespace {

Value received(Machine& m, const Value& from, const Shape& sizes, Axis axis, CollectiveKind kind) {
  Value to = m.allocate(from.dtype(), sizes);
  const bool grows = kind == CollectiveKind::kAllGather;
  m.await(m.issue({.kind = kind, .axis = axis, .bytes = grows ? to.bytes() : from.bytes()}));
  return to;
}

}  // namespace

Value exchanged(Machine& m, const Value& x, const Shape& sizes, Axis axis, CollectiveKind kind,
                CollectiveKind back) {
  Value y = received(m, x, sizes, axis, kind);
  const Value inputs[] = {x};
  m.record(y, inputs, {}, [axis, back](Machine& mm, const Gradients& g, const GradNode& n) {
    return Gradients{received(mm, g[0], n.edges[0].input->sizes, axis, back)};
  });
  return y;
}

}  // namespace plimsoll::eager
