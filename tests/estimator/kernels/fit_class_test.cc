#include "estimator/kernels/fit_class.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "estimator/kernels/time_model.h"
#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Sources that name a class: by its word of calibrations, or by one of its terms.
std::set<std::string> files_that_name(const std::vector<std::string>& words) {
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  std::set<std::string> found;
  for (const char* room : {"hwdb", "estimator", "calibrate"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      const auto extension = entry.path().extension();
      if (extension != ".cc" && extension != ".h") continue;
      std::ifstream in(entry.path());
      std::stringstream text;
      text << in.rdbuf();
      for (const std::string& word : words) {
        if (text.str().find(word) == std::string::npos) continue;
        found.insert(fs::relative(entry.path(), root).string());
      }
    }
  }
  return found;
}

TEST_CASE("every class has terms, a row and a launch among its terms") {
  for (const FitClassRow& row : fit_classes()) {
    CAPTURE(row.name);
    const auto terms = coefficient_rows(row.name);
    REQUIRE(terms.size() > static_cast<size_t>(row.launch));
    const std::string_view launch = terms[static_cast<size_t>(row.launch)].name;
    CHECK((launch == "fixed_us" || launch == "call_us"));
    CHECK(&fit_class(row.name) == &row);
  }
}

// A class that is added is written in these: its terms, its model with its row, and what it is
// fitted to. kernel_time.cc or convolution.cc say which kernels it prices.
TEST_CASE("a class is named where its terms, its row and its plan are") {
  const std::set<std::string> everywhere = {
      "calibrate/fit_plan.cc", "estimator/kernels/fit_class.cc", "estimator/kernels/select_fit.cc",
      "estimator/kernels/time_context.cc", "hwdb/calibration.cc"};
  struct Named {
    std::vector<std::string> words;
    std::set<std::string> besides;  // those of its own, and what tells its kernels from others
  };
  const Named rows[] = {
      {{"\"persistent\""},
       {"estimator/kernels/recurrent_algorithm.cc", "estimator/kernels/recurrent_algorithm.h"}},
      {{"\"depthwise\""}, {"calibrate/run_verb.cc", "estimator/library/workspace/tables.cc"}},
      {{"\"grouped\""}, {"estimator/kernels/carry_over.cc"}},
      {{"kPersistentTerms", "kPersistentTermCount"}, {}},
      {{"kDepthwiseTerms", "kDepthwiseTermCount"}, {}},
      {{"kGroupedTerms", "kGroupedTermCount"}, {}},
  };
  for (const Named& row : rows) {
    CAPTURE(row.words.front());
    std::set<std::string> allowed = everywhere;
    allowed.insert(row.besides.begin(), row.besides.end());
    for (const std::string& file : files_that_name(row.words)) {
      const bool own = file == "hwdb/calibration_terms.h" || file == "hwdb/fit.h" ||
                       file.starts_with("estimator/kernels/persistent.") ||
                       file.starts_with("estimator/kernels/depthwise.") ||
                       file.starts_with("estimator/kernels/grouped.");
      CHECK_MESSAGE((own || allowed.contains(file)), file);
    }
  }
}

}  // namespace
}  // namespace plimsoll
