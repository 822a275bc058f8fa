// ConvQuestion: a convolution in one pass, as cuDNN is asked about it, and as a line of JSON:
//   {"pass": "fprop", "n": 32, "c": 64, "h": 56, "w": 56, "k": 64, "r": 3, "s": 3, "pad_h": 1,
//    "pad_w": 1, "dtype": "fp32", "layout": "nchw"}
// Padding, stride (1), dilation (1), groups (1), dtype and layout (nchw) may be left out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/base/dtype.h"
#include "graph/ir/kernel.h"
#include "graph/json/fields.h"
#include "graph/json/object.h"
#include "graph/json/writer.h"

namespace plimsoll {

struct ConvQuestion {
  ConvProblem<int64_t> problem;  // its output as input, filter and padding make it
  Pass pass = Pass::kForward;
  DType dtype = DType::kFloat32;  // fp32, fp16, bf16 or fp64
  bool operator==(const ConvQuestion&) const = default;
};
void describe(Fields& f, ConvQuestion& question);

// Whether the output is what equal padding on both sides makes of the input.
bool has_equal_padding(const ConvProblem<int64_t>& problem);

// Nothing for what cuDNN is not asked: 3-D convolutions, padding that differs between two sides,
// other types, both gradients at once.
std::optional<ConvQuestion> conv_question(const KernelAt& kernel);

// Takes the question's keys of an object that may have others; `usual` where no dtype is. Faults
// are the object's; E241 where the filter does not fit.
ConvQuestion read_conv_question(JsonObject& object, DType usual);
// The same of a line that holds nothing else.
Result<ConvQuestion> parse_conv_question(std::string_view line, std::string_view place,
                                         DType usual);
// All keys, into an object that is open.
void write_conv_question(JsonWriter& out, const ConvQuestion& question);

// "fprop 32 64 56 56 64 3 3 1 1 1 1 1 1 1 fp32 nchw": pass, n c h w k r s, padding, strides,
// dilations, groups. Equal for equal questions alone.
std::string text_of(const ConvQuestion& question);

}  // namespace plimsoll
