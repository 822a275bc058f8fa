#include "graph/eager/autocast.h"

#include <array>

#include "graph/base/among.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {

Value to_autocast(Machine& m, const Value& x) {
  const auto type = m.autocast();
  if (!type || !x.defined() || x.dtype() != DType::kFloat32 || !x.on_device()) return x;
  Value* kept = m.cast_of_weight(x);
  if (!kept) return cast(m, x, *type);
  if (!kept->defined()) *kept = cast(m, x, *type);
  return *kept;
}

Value to_single(Machine& m, const Value& x) {
  const bool narrow = x.defined() && is_float(x.dtype()) && bits(x.dtype()) < 32;
  return m.autocast() && narrow ? cast(m, x, DType::kFloat32) : x;
}

bool wants_single(std::string_view op) {
  static constexpr std::array<std::string_view, 14> kSingle = {
      "acos",  "asin",       "cosh",  "erfinv", "exp",      "expm1", "log",
      "log10", "reciprocal", "rsqrt", "sinh",   "softplus", "tan",   "pow"};
  return among(op, kSingle);
}

std::vector<Value> of_one_type(Machine& m, std::span<const Value> parts) {
  const DType type = common_type(parts);
  std::vector<Value> cast_parts;
  for (const Value& part : parts)
    cast_parts.push_back(is_float(part.dtype()) ? cast(m, part, type) : part);
  return cast_parts;
}

DType common_type(std::span<const Value> operands) {
  DType type = DType::kUndefined;
  for (const bool on_device : {true, false}) {
    for (const Value& v : operands) {
      if (!v.defined() || v.on_device() != on_device) continue;
      const bool first = type == DType::kUndefined;
      const bool wider = is_float(v.dtype()) && (!is_float(type) || bits(v.dtype()) > bits(type));
      if (first || (on_device && wider)) type = v.dtype();
    }
  }
  return type;
}

}  // namespace plimsoll::eager
