// Any bytes, read as an ONNX model: an answer or a diagnostic, within the limits.
#include <cstddef>
#include <cstdint>

#include "graph/onnx/decode.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const ByteSource source = ByteSource::of("fuzz", {bytes, bytes + size});
  onnx::Wire wire(source, {});
  const auto model = onnx::decode_model(wire);
  if (!model && model.error().empty()) __builtin_trap();  // a refusal without a reason
  return 0;
}
