// What a file is that is not an ONNX model.
#pragma once

#include "graph/base/byte_source.h"

namespace plimsoll::onnx {

// E201 for an empty input, E202 for a stand-in (a Git LFS pointer, a web page), E203 for another
// kind of model or archive, each with what to do. Reads the first bytes only.
Result<void> refuse_other_formats(const ByteSource& source);
// The same for a JSON document that is no model config but somebody else's. Cost: one pass for each
// kind that is known.
Result<void> refuse_other_json(std::string_view text, const std::string& file);

}  // namespace plimsoll::onnx
