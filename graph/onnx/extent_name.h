// What an extent's name in a file tells of it.
#pragma once

#include <string_view>

namespace plimsoll::onnx {

// "batch_size", "bs".
bool is_called_batch(std::string_view symbol);
// What is also called so where nothing else can be: [T, N, C], as PyTorch's documentation of
// recurrent layers has it.
bool may_be_batch(std::string_view symbol);
// "seq_len", "T".
bool is_called_sequence(std::string_view symbol);
// A number that an exporter gave: "s0" (torch.export), "unk__6" (tf2onnx), "x_dynamic_axes_1"
// (torch.onnx of axes without names), "dim_0".
bool is_numbered(std::string_view symbol);

}  // namespace plimsoll::onnx
