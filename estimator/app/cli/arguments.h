// Values of the command line, judged before the parser takes them: it would take the flag that
// follows for a value that was left empty, and any number for a switch.
#pragma once

#include <span>
#include <string>

#include "estimator/app/cli/flag_set.h"
#include "graph/base/diagnostic.h"

namespace plimsoll::cli {

// `arguments` of a verb, up to "--". E102 for a flag whose value is empty, or in whose value's
// place another flag stands; E103 for a switch with a value that is neither true nor false. What
// `app` does not know is left to the parser.
// With "--fsdp" as "--fsdp=all" where no value of the setting follows.
std::vector<std::string> with_implied_values(std::vector<std::string> arguments);

Result<void> check_arguments(const FlagSet& app, std::span<const std::string> arguments);

// For Flag::check(): why a text is no decimal whole number from `least` on; empty where it
// is one.
std::string why_not_whole(const std::string& text, int least);

}  // namespace plimsoll::cli
