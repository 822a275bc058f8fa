// A validation as JUnit XML, which every CI shows: a test case for each compared quantity of a run.
#pragma once

#include <string>

#include "estimator/app/validate/tolerance.h"
#include "estimator/app/validate/validate.h"

namespace plimsoll {

// Grows with the lines; its form is that of Apache Ant's JUnit task, as Jenkins and GitLab read it.
class JunitReport {
 public:
  // `allowed`: what the line's tolerance is, in words; of lines that are outside alone.
  void add(const ValidationLine& line, LineState state, const std::string& allowed);
  std::string to_xml(const Gate& gate) const;

 private:
  std::string cases_;
  int64_t count_ = 0;
};

}  // namespace plimsoll
