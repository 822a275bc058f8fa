// A verb's help: examples first, then its flags in groups, with defaults.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estimator/app/cli/cli11.h"
#include "estimator/app/report/page.h"

namespace plimsoll::cli {

// `all`: rarely used flags too, and every word that a flag takes; else those are named in a line
// for each group.
std::string help_of(const CLI::App& app, const std::vector<std::string_view>& examples, bool all,
                    const Page& page);

// CLI11 prints help of the app, and of verbs that are added to it afterwards, in this form; all
// flags of it.
void use_help(CLI::App& app);

}  // namespace plimsoll::cli
