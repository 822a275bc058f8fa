// Text between the tags of HTML and XML, and in their attributes.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

// Markup is escaped, and what escaped() makes harmless: nothing that either has no form for is
// left.
std::string escaped_markup(std::string_view text);

}  // namespace plimsoll
