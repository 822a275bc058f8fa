// ONNX's Einsum: its equation, spelled for graph/eager/einsum.h.
#include "graph/eager/einsum.h"
#include "graph/ops/einsum_equation.h"
#include "graph/ops/lower.h"

namespace plimsoll::lower {

// The shape rule has seen that the labels fit.
Values einsum(Lowering& l) {
  const ops::EinsumEquation equation = ops::split_equation(l.attributes().string("equation", ""));
  std::vector<std::string> spelled;
  for (size_t i = 0; i < l.inputs().size(); ++i)
    spelled.push_back(ops::spell_labels(equation.operands[i], l.in(i).rank()).value_or(""));
  const std::string out = ops::result_labels(equation, spelled).value_or("");
  std::vector<Value> operands;
  for (size_t i = 0; i < spelled.size(); ++i) operands.push_back(l.in(i));
  return {eager::einsum(l.m, operands, spelled, out)};
}

}  // namespace plimsoll::lower
