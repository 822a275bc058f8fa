// What chooses between two tensors element by element.
#include "graph/eager/autocast.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {

Value binary_keeping_both(Machine& m, const std::string& op, const Value& a, const Value& b) {
  const Value inputs[] = {a, b};
  Value y = elementwise(m, op, inputs, common_type(inputs));
  m.record(y, inputs, {{a, "both operands are kept"}, {b, "both operands are kept"}},
           [op](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out(2);
             const Value parts[] = {g[0], n.saved(0), n.saved(1)};
             for (size_t i = 0; i < 2; ++i) {
               if (n.needs(i)) out[i] = elementwise(mm, op, parts, g[0].dtype());
             }
             return out;
           });
  return y;
}

// Backward: where(self == other, grad / 2, grad).masked_fill(self < other, 0), and the same the
// other way round.
Value extremum(Machine& m, const std::string& op, const Value& a, const Value& b) {
  const Value inputs[] = {a, b};
  Value y = elementwise(m, op, inputs, common_type(inputs));
  m.record(y, inputs, {{a, "both operands are kept"}, {b, "both operands are kept"}},
           [](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out(2);
             const Value both[] = {n.saved(0), n.saved(1)};
             for (size_t i = 0; i < 2; ++i) {
               if (!n.needs(i)) continue;
               const Value equal = elementwise(mm, "equal", both, DType::kBool);
               const Value half = elementwise(mm, "div", g, g[0].dtype());
               const Value parts[] = {equal, half, g[0]};
               const Value shared = elementwise(mm, "where", parts, g[0].dtype());
               const Value less = elementwise(mm, "less", both, DType::kBool);
               const Value filled[] = {shared, less};
               out[i] = elementwise(mm, "masked_fill", filled, g[0].dtype());
             }
             return out;
           });
  return y;
}

Value clamp(Machine& m, const Value& x, size_t bounds) {
  const Value inputs[] = {x};
  Value y = elementwise(m, "clip", inputs, x.dtype());
  m.record(y, inputs, {{x, "clamp keeps its input"}},
           [bounds](Machine& mm, const Gradients& g, const GradNode& n) {
             const Value kept[] = {n.saved(0)};
             std::vector<Value> inside(bounds);
             for (Value& v : inside) v = map(mm, "compare", kept, DType::kBool);
             const Value zero = fill(mm, g[0].dtype(), {});
             const Value parts[] = {kept[0], g[0]};
             return Gradients{elementwise(mm, "where", parts, g[0].dtype())};
           });
  return y;
}

Value where(Machine& m, const Value& condition, const Value& a, const Value& b) {
  const Value operands[] = {condition, a, b};
  const Value inputs[] = {a, b};
  Value y = elementwise(m, "where", operands, common_type(inputs));
  // A number where the condition holds: masked_fill, whose backward needs no zero to choose.
  const bool filled = !a.on_device();
  m.record(y, inputs, {{condition, "where keeps its condition"}},
           [filled](Machine& mm, const Gradients& g, const GradNode& n) {
             Gradients out(2);
             const Value zero = filled ? Value() : fill(mm, g[0].dtype(), {});
             const Value parts[] = {n.saved(0), g[0]};
             for (size_t i = 0; i < 2; ++i) {
               if (n.needs(i)) out[i] = elementwise(mm, "where", parts, g[0].dtype());
             }
             return out;
           });
  return y;
}

}  // namespace plimsoll::eager
