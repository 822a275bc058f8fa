// JSON and YAML values as the texts that settings are read from: of plans, defaults, records and
// answers that are asked again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estimator/settings/setting_row.h"
#include "graph/json/value.h"

namespace plimsoll {

// A value as flags take it.
std::string text_of(const JsonValue& value);

// The texts by which the setting is given, none where it is not: of switches false, of all null.
// `called`: the name as the file has it. E103 for what is no value of a switch or a map.
Result<std::vector<std::string>> texts_of(const SettingRow& row, std::string_view called,
                                          const JsonValue& value);

}  // namespace plimsoll
