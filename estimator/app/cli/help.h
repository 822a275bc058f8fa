// A verb's help: examples first, then its flags in groups, with defaults.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estimator/app/cli/flag_set.h"
#include "estimator/app/report/page.h"

namespace plimsoll::cli {

// `all`: rarely used flags too, and every word that a flag takes; else those are named in a line
// for each group.
std::string help_of(const FlagSet& app, const std::vector<std::string_view>& examples, bool all,
                    const Page& page);

}  // namespace plimsoll::cli
