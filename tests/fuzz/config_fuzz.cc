// Any text, from the JSON reader to the networks that a config describes. What is accepted must
// have one; what is refused must say why.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/config/model_config.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Diagnostics warnings;
  const auto config = load_model_config(text, "fuzz.json", {}, warnings);
  if (config ? config->networks.empty() : config.error().empty()) __builtin_trap();
  return 0;
}
