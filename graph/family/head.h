// Heads: what stands behind a family's body where a config's "architectures" name another class
// than the family's own. A family has a row for each of them, by the end of the class's name:
//
//   "heads": {"SequenceClassification": {"after": "bert", "parameters": {"labels": 2},
//             "keys": {"num_labels": "labels"}, "layers": [...]}}
//
// Decoders have those of keys.json, "decoder_heads", behind their first layer.
#pragma once

#include <string_view>

#include "graph/base/diagnostic.h"
#include "graph/config/parameters.h"
#include "graph/json/value.h"

namespace plimsoll {

// Puts the head that `set` asks for ("head") or that `config` names into `family`, whose layers
// after `after` give way to it, and takes it out of `set`. E354 a class that the family has no head
// for, E134 a setting, with those it has; W357 a class that was trained with more than the family's
// head.
Result<void> put_head(JsonValue& family, const JsonValue& common, const JsonValue& config,
                      std::string_view file_name, config::Settings& set, Diagnostics& warnings);

}  // namespace plimsoll
