// Forms of an answer that verbs share: text for a page, JSON, and where there is a table CSV and
// Markdown.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "estimator/report/page.h"
#include "graph/base/diagnostic.h"

namespace plimsoll::cli {

struct OutputFlags {
  bool json = false, csv = false, markdown = false;
  bool wide = false, quiet = false;
  std::string color = "auto";
};

// Declares them; `json` is what that form holds, `table` what the rows of CSV and Markdown are, or
// empty where the verb has none.
void add_output(CLI::App& app, OutputFlags& flags, const std::string& json,
                const std::string& table);

// E114 for two forms at once, E106 for a --color nobody knows; W516 for what shapes text alone.
Result<Diagnostics> check_output(const OutputFlags& flags);

// As wide as the terminal, 80 columns where standard output is none; coloured on a terminal unless
// NO_COLOR is set (no-color.org).
Page page_of(const OutputFlags& flags);

}  // namespace plimsoll::cli
