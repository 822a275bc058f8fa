// The settings as flags that estimate, max-batch, compare, sweep, explain and validate share, as
// text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/app/cli/flag_set.h"
#include "estimator/settings/given_settings.h"

namespace plimsoll::cli {

// Every option is bound to text: conversions of a reader of flags accept what we must refuse
// ("010", "-1" as a huge count, "24GB" as GiB).
struct SharedFlags : GivenSettings {
  // Of a verb's own flags of one value, by name without dashes; each as often as it was given.
  std::map<std::string, std::vector<std::string>> verb_values;
};

// Declares the flags. `flags` must outlive the parse.
// `Shown::kRarely`: --help only names them.
void add_shared(const FlagSet& app, SharedFlags& flags, bool with_model = true,
                SettingRow::Shown most = SettingRow::Shown::kOften);
// A single-valued flag beside the shared ones, read as text.
void add_value(const FlagSet& app, SharedFlags& flags, const std::string& name,
               const std::string& help, const std::string& value, const std::string& group);

// The value of a single-valued flag, or null where it was not given.
const std::string* value_of(const SharedFlags& flags, std::string_view name);

}  // namespace plimsoll::cli
