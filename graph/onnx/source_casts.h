// What a source line says of the type of values. In a model of single precision such casts change
// nothing, and PyTorch's newer exporter leaves out what changes nothing; the line is still there.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::onnx {

// As NodeNotes::casts has them, of the innermost line of a stack trace. The line
//   scores = F.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
// says "softmax()>float,()>given"; `return self.weight.to(torch.float32) * x` says
// "self.weight>float". A cast of an expression is told only where it ends the line. What runs under
// a torch.autocast of its own has lines that a tracer wrote, of values that casts made or not:
// "mm = torch.ops.aten.matmul.default(t_1, to_2)" says "#2>float".
std::string casts_of(std::string_view stack_trace);

// Does the line make each value contiguous that it transposes?
bool makes_contiguous(std::string_view stack_trace);

// Does it write into a part of a tensor: x[:, 1] = y, x[:, 1].copy_(y)?
bool writes_part(std::string_view stack_trace);
// Does the line reshape, and make nothing contiguous?
bool reshapes(std::string_view stack_trace);

}  // namespace plimsoll::onnx
