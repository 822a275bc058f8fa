// A validation in GitHub Actions: annotations in the log, a table in the job's summary.
// (Source: GitHub's documentation, "Workflow commands for GitHub Actions".)
#pragma once

#include <string>
#include <vector>

#include "estimator/app/report/table.h"
#include "estimator/app/validate/tolerance.h"
#include "estimator/app/validate/validate.h"

namespace plimsoll {

// Collects what is out of tolerance.
class GithubReport {
 public:
  void add(const ValidationLine& line, LineState state, const std::string& allowed);
  // A line for each of the first nine, and one that counts the rest: of a step GitHub shows ten.
  std::string annotations() const;
  // Markdown: the verdict, and the first hundred runs that are out of tolerance or were skipped. A
  // step's summary may have a mebibyte.
  std::string summary(const Gate& gate) const;

 private:
  std::vector<std::string> annotations_;
  int64_t outside_ = 0, listed_ = 0, unlisted_ = 0;
  Table table_{{{"run", {}, Column::kName},
                {"model or op", {}, Column::kName},
                {"quantity", {}, Column::kName},
                {"measured"},
                {"predicted"},
                {"error"},
                {"", {}, Column::kName}}};
};

// Of a workflow command: its text, and the value of one of its properties.
std::string escaped_for_command(std::string_view text);
std::string escaped_for_property(std::string_view text);

}  // namespace plimsoll
