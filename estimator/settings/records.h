// Settings as measured records have them, by the key of each row.
#pragma once

#include <string>
#include <vector>

#include "estimator/settings/setting_row.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

// What the record says of settings, into the request; the rest of it stays. Rows that are composed
// are not read. The error is what is not known, in words: "optimizer 'lars' is not known".
tl::expected<void, std::string> read_settings(const MeasuredRun& run, Request& into);

// Members of a record: what was given of the request. The framework is written always.
void write_settings(JsonWriter& out, const Request& from);

// What was given and no key says, as flags without their dashes: "checkpoint", "dim heads".
std::vector<std::string> settings_without_key(const Request& request);

}  // namespace plimsoll
