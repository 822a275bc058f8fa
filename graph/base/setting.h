// A setting of the request, named in a message. Who asked knows it as a flag, a keyword argument or
// a pair: below the door nobody can tell, so a text holds its name alone, and whoever shows the
// text spells it (estimator/app/report/spelling.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

struct Setting {
  std::string name;                // "batch", as the command line's flag without dashes
  std::optional<std::string> key;  // of one that has entries: dim of "sequence"
  std::string value;               // "512"; empty where none is proposed
};

// The setting as part of a text.
std::string setting(std::string_view name, std::string_view value = {});
std::string setting_entry(std::string_view name, std::string_view key, std::string_view value = {});

// The text with each of its settings as `spell` has it. What only looks like one stays as it is.
std::string with_settings(std::string_view text,
                          const std::function<std::string(const Setting&)>& spell);

}  // namespace plimsoll
