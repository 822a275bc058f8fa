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

namespace {

enum class Operand : uint8_t { kTensor, kWithoutAxes, kNumber };

Operand kind_of(const Value& v) {
  if (!v.on_device()) return Operand::kNumber;
  return v.sizes().empty() ? Operand::kWithoutAxes : Operand::kTensor;
}

bool is_wider(DType type, DType than) {
  return is_float(type) && (!is_float(than) || bits(type) > bits(than));
}

}  // namespace

DType common_type(std::span<const Value> operands) {
  DType type = DType::kUndefined;
  for (const Operand kind : {Operand::kTensor, Operand::kWithoutAxes, Operand::kNumber}) {
    DType widest = DType::kUndefined;
    for (const Value& v : operands) {
      if (!v.defined() || kind_of(v) != kind) continue;
      if (widest == DType::kUndefined || (kind != Operand::kNumber && is_wider(v.dtype(), widest)))
        widest = v.dtype();
    }
    const bool lifts = kind == Operand::kWithoutAxes && !is_float(type) && is_float(widest);
    if (type == DType::kUndefined || lifts) type = widest;
  }
  return type;
}

}  // namespace plimsoll::eager
