// --html FILE: where a verb writes its page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/app/cli/flag_set.h"
#include "estimator/app/cli/output_file.h"
#include "graph/base/distinct_files.h"

namespace plimsoll::cli {

struct PageFlags {
  std::string path;  // empty: no page
  bool force = false;
  bool others = false;  // the verb writes other files too, which --force is of as well
};

// Declares --html and --force. `flags` must outlive the parse.
void add_page(const FlagSet& app, PageFlags& flags);

//   std::optional<OutputFile> page;
//   if (const int fault = open_page(flags, page); fault != 0) return fault;  // before the work
//   if (page) status = write_page(*page, html);
// Both report what is wrong; the exit status, or 0. `read`: files that the page must not be written
// over.
int open_page(const PageFlags& flags, std::optional<OutputFile>& page,
              const std::vector<NamedFile>& read = {});
int write_page(OutputFile& page, const std::string& html);

}  // namespace plimsoll::cli
