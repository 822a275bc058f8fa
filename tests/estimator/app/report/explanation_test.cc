// The catalogue of codes is complete and has nothing else: read from the sources.
#include "estimator/app/report/explanation.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

using namespace plimsoll;

namespace {

namespace fs = std::filesystem;

// Codes that the sources give, with a file that gives them: "E241" or [E612] in a source or in the
// Python package.
std::map<std::string, std::string> codes_in_sources() {
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  const std::regex pattern("[\"\\[]([ENW][1-9][0-9][0-9])[\"\\]]");
  std::map<std::string, std::string> found;
  for (const char* room : {"graph", "hwdb", "estimator", "calibrate", "monitor", "python"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      const auto extension = entry.path().extension();
      if (extension != ".cc" && extension != ".h" && extension != ".py") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        const size_t comment = line.find(extension == ".py" ? "# " : "//");
        if (comment != std::string::npos) line.resize(comment);
        for (std::sregex_iterator at(line.begin(), line.end(), pattern), end; at != end; ++at)
          found.emplace((*at)[1], fs::relative(entry.path(), root).string());
      }
    }
  }
  return found;
}

}  // namespace

TEST_CASE("every code that the sources give is explained, and nothing else is") {
  const auto all = explanations();
  REQUIRE(all);
  const auto used = codes_in_sources();
  REQUIRE(used.size() > 100);
  std::set<std::string> explained;
  for (const Explanation& e : *all) {
    CHECK_MESSAGE(explained.insert(e.code).second, e.code << " is explained twice");
    CHECK_MESSAGE(used.contains(e.code), e.code << " is explained and never given");
    CHECK_MESSAGE(e.title.size() > 5, e.code);
    CHECK_MESSAGE(e.meaning.ends_with("."), e.code);
    CHECK_MESSAGE(e.remedy.ends_with("."), e.code);
  }
  for (const auto& use : used) {
    CHECK_MESSAGE(
        explained.contains(use.first),
        use.first << ", given in " << use.second << ", is missing in estimator/explanations.json");
  }
}

TEST_CASE("codes are found in either case, with the nearest suggested") {
  CHECK(find_explanation("E241")->title == "A kernel that does not fit");
  CHECK(find_explanation("w210")->code == "W210");
  const auto wrong = find_explanation("E999");
  REQUIRE(!wrong);
  CHECK(wrong.error().front().code == "E153");
  CHECK(wrong.error().front().help.find("did you mean") != std::string::npos);
  CHECK(looks_like_code("E241"));
  CHECK(looks_like_code("w001"));
  CHECK(!looks_like_code("E24"));
  CHECK(!looks_like_code("conv1"));
}
