// ineffective_settings: settings that a verb does not use. Each is said, or refused where what it
// asks for is decided elsewhere.
#pragma once

#include <string_view>

#include "estimator/settings/setting_row.h"

namespace plimsoll {

// W516 for those of `request.given` that `verb` makes no use of, E117 for those it cannot obey.
Diagnostics ineffective_settings(std::string_view verb, const Request& request);

}  // namespace plimsoll
