#include "tests/support/not_run.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace plimsoll::test {

namespace {

bool excused = false;  // the running test said why it is not run
int empty = 0;

bool all_required() {
  const char* const value = std::getenv("PLIMSOLL_REQUIRE_ALL");
  return value && std::string_view(value) == "1";
}

// An early return is green to doctest. Here a test that checked nothing has failed.
class EmptyTests : public doctest::IReporter {
 public:
  explicit EmptyTests(const doctest::ContextOptions& /*options*/) {}
  void test_case_start(const doctest::TestCaseData& test) override {
    test_ = &test;
    excused = false;
  }
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    if (excused || stats.numAssertsCurrentTest > 0 || !stats.testCaseSuccess) return;
    ++empty;
    std::printf("%s:%u: ERROR: \"%s\" checked nothing\n", test_->m_file.c_str(), test_->m_line,
                test_->m_name);
  }
  void report_query(const doctest::QueryData& /*query*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& /*stats*/) override {}
  void test_case_reenter(const doctest::TestCaseData& /*test*/) override {}
  void test_case_exception(const doctest::TestCaseException& /*exception*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*subcase*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*data*/) override {}
  void log_message(const doctest::MessageData& /*data*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*test*/) override {}

 private:
  const doctest::TestCaseData* test_ = nullptr;
};

DOCTEST_REGISTER_LISTENER("empty_tests", 1, EmptyTests);

}  // namespace

void not_run(const std::string& why, Lacks lacks) {
  excused = true;
  const std::string line = why.substr(0, why.find('\n'));
  if (lacks == Lacks::kBrought && all_required()) {
    FAIL_CHECK("PLIMSOLL_REQUIRE_ALL, and this cannot be run: " << line);
    return;
  }
  std::printf("not run: %s | %s\n", line.c_str(),
              doctest::getContextOptions()->currentTest->m_name);
  std::fflush(stdout);
}

int empty_tests() { return empty; }

}  // namespace plimsoll::test
