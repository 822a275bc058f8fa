// Shape: the extents of a tensor, as Dims; and the arithmetic that shape rules share.
#pragma once

#include <string>
#include <vector>

#include "graph/base/dtype.h"
#include "graph/symbol/dim.h"

namespace plimsoll {

using Shape = std::vector<Dim>;

// A tensor's element type and extents. Rank is shape.size().
struct TensorType {
  DType dtype = DType::kUndefined;
  Shape shape;
};

// Product of the extents: 1 for a scalar.
Dim elements(const Shape& shape);
// Product of shape[first..last).
Dim elements(const Shape& shape, size_t first, size_t last);
// Bytes of a dense tensor; sub-byte types are packed and rounded up.
Dim bytes(const TensorType& type);
Dim bytes(DType dtype, const Dim& count);

// "f32[batch,64,112,112]"
std::string text(const TensorType& type);
std::string text(const Shape& shape);

// A negative axis counts from the end. Nothing where it is out of range.
std::optional<size_t> normalize_axis(int64_t axis, size_t rank);

// NumPy's rule. Where a pair of extents could be 1 or not, `decider` decides at its hint.
// E251 names the extents that do not fit.
Result<Shape> broadcast(const Shape& a, const Shape& b, Decider& decider);

}  // namespace plimsoll
