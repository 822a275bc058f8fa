// Any text, from the JSON reader to the step that a record holds. What is accepted must bind at its
// own sizes or say why not; what is refused must say why.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/record/record.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto record = read_record(text, "fuzz.json");
  if (!record && record.error().empty()) __builtin_trap();
  if (!record) return 0;
  for (const Buffer& buffer : record->step.buffers) {
    const auto bytes = buffer.bytes.evaluate(record->symbols);
    if (bytes && *bytes < 0) __builtin_trap();
  }
  return 0;
}
