// The strict YAML reader: what people write by hand for other tools, as the tree that JSON gives.
// Scalars are those of JSON's schema: null (or nothing), true, false, decimal numbers; every other
// plain scalar is text, `no` and `0o10` among them, and every quoted one.
#pragma once

#include <string_view>

#include "graph/base/diagnostic.h"
#include "graph/base/limits.h"
#include "graph/json/value.h"

namespace plimsoll {

// The one document of a UTF-8 text.
// E350 for an alias, an anchor, a tag, a second document or a key that is no scalar; E351 not YAML;
// E302 not UTF-8, E303 key given twice, E312 number beyond a double, E331 empty; E806, E807 and
// E815 as JSON's.
Result<JsonValue> read_yaml(std::string_view text, std::string_view file_name,
                            const Limits& limits = {});

}  // namespace plimsoll
