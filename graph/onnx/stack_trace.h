// The statements that were running when PyTorch's exporter met an operator, as it writes them
// beside the node: a Python stack trace of the calls to forward(), outermost first.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::onnx {

// As NodeNotes::statements has them. A trace such as
//   File ".../vit.py", line 66, in forward
//     x, mask = self.embed(
//   File ".../mlp.py", line 12, in forward
//     return self.fc2(self.fc1(x))
// is "vit.py:66 x,mask...;mlp.py:12". "+=" follows the name of what a sum is written into. Empty
// where it is none.
std::string statements_of(std::string_view stack_trace);

}  // namespace plimsoll::onnx
