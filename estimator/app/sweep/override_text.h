// The values of an override as Hydra's command line and its sweepers have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/json/value.h"

namespace plimsoll {

struct OverrideText {
  enum class Kind : uint8_t { kValues, kRange, kInterval };
  Kind kind = Kind::kValues;
  std::vector<JsonValue> values{};      // without places
  int64_t low = 0, high = 0, step = 1;  // of a range: up to before `high`
};

// "32", "32,64", "choice(a, 'b')", "range(8)", "range(1, 9, 2)", "interval(0, 1)": of Hydra's
// grammar (its documentation, "Extended Override syntax") what lists words and numbers. The
// error names what is not done: "shuffle(...) is not done".
tl::expected<OverrideText, std::string> read_override_text(std::string_view text);

// The same the other way: "choice(32,64)".
std::string to_override_text(const std::vector<JsonValue>& values);

}  // namespace plimsoll
