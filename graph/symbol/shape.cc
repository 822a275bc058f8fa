#include "graph/symbol/shape.h"

#include <fmt/format.h>

namespace plimsoll {

Dim elements(const Shape& shape, size_t first, size_t last) {
  Dim product = 1;
  for (size_t i = first; i < last; ++i) product *= shape[i];
  return product;
}

Dim elements(const Shape& shape) { return elements(shape, 0, shape.size()); }

Dim bytes(DType dtype, const Dim& count) {
  const int width = bits(dtype);
  return width % 8 == 0 ? count * Dim(width / 8) : ceil_div(count * Dim(width), 8);
}

Dim bytes(const TensorType& type) { return bytes(type.dtype, elements(type.shape)); }

std::string text(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ",";
    out += shape[i].text();
  }
  return out + "]";
}

std::string text(const TensorType& type) {
  return std::string(short_name(type.dtype)) + text(type.shape);
}

std::optional<size_t> normalize_axis(int64_t axis, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
}

Result<Shape> broadcast(const Shape& a, const Shape& b, Decider& decider) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    const Dim& x = longer[offset + i];
    const Dim& y = shorter[i];
    if (x == y || y == Dim(1)) continue;
    if (x == Dim(1)) {
      out[offset + i] = y;
    } else if (decider.equal(x, y)) {
      continue;
    } else if (decider.is_one(x)) {
      out[offset + i] = y;
    } else if (!decider.is_one(y)) {
      return error("E251", fmt::format("shapes {} and {} do not broadcast: {} against {}", text(a),
                                       text(b), x.text(), y.text()));
    }
  }
  return out;
}

}  // namespace plimsoll
