// Automatic mixed precision as PyTorch runs it: inside the scope each operator casts what it reads.
// Matrix products, convolutions and attention read half precision; exponentials, norms over rows
// and losses read single; the rest takes the widest type it is given (ATen/autocast_mode.h). A cast
// is an operator like any other: it allocates, and its backward casts the gradient back. Casts of
// weights are made once and kept until the scope ends.
#pragma once

#include <string_view>
#include <vector>

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// x as an operator of the half-precision list reads it; x itself outside a scope, or where it is no
// fp32 tensor of the device.
Value to_autocast(Machine& m, const Value& x);
// x as an operator of the fp32 list reads it.
Value to_single(Machine& m, const Value& x);
// Does this element-wise operator read single precision?
bool wants_single(std::string_view op);
// All as the widest type among them: what joining tensors needs.
std::vector<Value> of_one_type(Machine& m, std::span<const Value> parts);

// Inside an operator that was cast as a whole, its pieces are not cast again.
class AutocastPause {
 public:
  explicit AutocastPause(Machine& m) : m_(m), type_(m.autocast()) { m_.set_autocast({}); }
  ~AutocastPause() { m_.set_autocast(type_); }
  AutocastPause(const AutocastPause&) = delete;
  AutocastPause& operator=(const AutocastPause&) = delete;

 private:
  Machine& m_;
  std::optional<DType> type_;
};

// The type of an element-wise result: the widest of its tensors. A tensor without axes counts
// where there is no other, or makes floats of whole numbers (c10/core/ScalarType.h, result_type()
// of ATen/native/TypeProperties.cpp); numbers of the host do not widen it.
DType common_type(std::span<const Value> operands);

}  // namespace plimsoll::eager
