// The strict JSON reader: the one door through which JSON comes in. What a lenient reader would let
// pass in silence (a key given twice, a number that does not fit, a second value) is an error here.
#pragma once

#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"
#include "graph/base/limits.h"
#include "graph/json/value.h"

namespace plimsoll {

// The value a UTF-8 text (a byte-order mark is skipped) holds. `file_name` only names the place in
// messages.
// E301 not JSON (comments, trailing commas, NaN, truncation), E302 not UTF-8, E303 key given twice,
// E305 several values, E312 number beyond a double, E331 empty, E806 too deep, E807 and E815
// too large.
// Cost: linear; nesting is bounded by the limit, so recursion over the result is safe.
//
//   const auto config = read_json(text, "run.json");
//   if (!config) return tl::unexpected(config.error());
Result<JsonValue> read_json(std::string_view text, std::string_view file_name,
                            const Limits& limits = {});

// The text with null in place of NaN, Infinity and -Infinity, which Python's json module writes
// though JSON has none. Lines stay what they are.
std::string without_infinities(std::string_view text);

}  // namespace plimsoll
