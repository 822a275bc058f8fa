#include "estimator/app/cli/ci_report.h"

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/messages.h"
#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/try.h"

namespace plimsoll::cli {

bool in_github_actions() {
  const char* const actions = std::getenv("GITHUB_ACTIONS");
  return actions && std::string_view(actions) == "true";
}

void add_ci(const FlagSet& app, CiFlags& flags) {
  app.add_option("--junit", flags.junit,
                 "write JUnit XML with a test case for each figure, also over an existing file")
      .type_name("FILE")
      .group(kOutputGroup);
  app.add_option("--annotations", flags.annotations,
                 "annotate runs out of tolerance in GitHub Actions: auto or never")
      .type_name("WHEN")
      .default_str("auto")
      .group(rarely(kOutputGroup));
}

Result<CiReport> CiReport::open(const CiFlags& flags) {
  CiReport report;
  TRY(parse_word("--annotations", flags.annotations, {"auto", "never"}));
  TRY(OutputFile::open_if_named(flags.junit, true, report.file_));
  report.github_ = flags.annotations == "auto" && in_github_actions();
  return report;
}

void CiReport::add(const ValidationLine& line, LineState state, const std::string& allowed) {
  if (file_) junit_.add(line, state, allowed);
  if (github_) actions_.add(line, state, allowed);
}

Result<void> CiReport::finish(const Gate& gate) {
  if (github_) {
    tell(actions_.annotations());
    const char* const path = std::getenv("GITHUB_STEP_SUMMARY");
    if (path && *path != '\0') {
      std::ofstream summary(path, std::ios::app | std::ios::binary);
      summary << actions_.summary(gate) << std::flush;
      if (!summary)
        return error("E612", "cannot write the job's summary " + shortened(path, kQuotedColumns));
    }
  }
  return file_ ? file_->write(junit_.to_xml(gate)) : Result<void>();
}

}  // namespace plimsoll::cli
