// Forms of an answer that verbs share: text for a page, JSON, and where there is a table its forms.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "estimator/app/cli/flag_set.h"
#include "estimator/app/report/page.h"
#include "estimator/app/report/table.h"
#include "graph/base/diagnostic.h"

namespace plimsoll::cli {

struct OutputFlags {
  bool json = false;
  std::map<std::string_view, bool> tables;  // by form's name
  bool wide = false, quiet = false;
  std::string color = "auto";

  // Null where none is asked for.
  const TableForm* table() const;
};

// Declares them; `json` is what that form holds, `table` what the rows of tables are, or empty
// where the verb has none.
void add_output(const FlagSet& app, OutputFlags& flags, const std::string& json,
                const std::string& table);

// Of verbs that list: --json, the forms of tables and --wide.
void add_list_output(const FlagSet& app, OutputFlags& flags, const std::string& table);
// Without JSON.
void add_table_forms(const FlagSet& app, OutputFlags& flags, const std::string& table);

// The table in the form that is asked for, or as text for a page and `after`.
int print_table(const Table& table, const OutputFlags& flags, const std::string& after = "");

// E114 for two forms at once, E106 for a --color nobody knows; W516 for what shapes text alone.
Result<Diagnostics> check_output(const OutputFlags& flags);

// As wide as the terminal, 80 columns where standard output is none; coloured on a terminal unless
// NO_COLOR is set (no-color.org).
Page page_of(const OutputFlags& flags);

}  // namespace plimsoll::cli
