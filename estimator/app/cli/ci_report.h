// Where CI looks for a validation: --junit FILE, and in GitHub Actions annotations in the log and a
// table in the job's summary.
#pragma once

#include <optional>
#include <string>

#include "estimator/app/cli/flag_set.h"
#include "estimator/app/cli/output_file.h"
#include "estimator/app/report/github.h"
#include "estimator/app/report/junit.h"

namespace plimsoll::cli {

// Whether GitHub Actions runs it.
bool in_github_actions();

struct CiFlags {
  std::string junit;  // a file to write
  std::string annotations = "auto";
};
void add_ci(const FlagSet& app, CiFlags& flags);

class CiReport {
 public:
  // Before the work: as OutputFile::open(), and E106 for --annotations. GitHub is written for where
  // GITHUB_ACTIONS is true, unless --annotations never.
  static Result<CiReport> open(const CiFlags& flags);

  void add(const ValidationLine& line, LineState state, const std::string& allowed);
  // Annotations go to standard error, the table behind what GITHUB_STEP_SUMMARY has, the XML to its
  // file. E612 where one of them cannot be written.
  Result<void> finish(const Gate& gate);

 private:
  std::optional<OutputFile> file_;
  bool github_ = false;
  JunitReport junit_;
  GithubReport actions_;
};

}  // namespace plimsoll::cli
