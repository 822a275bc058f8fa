// The library is asked from the command line, from Python, from C++ and by plans of sweeps: below
// the door nobody knows of flags. A message names a setting (graph/base/setting.h).
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/source_text.h"

namespace {

using plimsoll::test::SourceText;
using plimsoll::test::Written;

struct Spared {
  std::string_view path, why;
};

// Beginnings of paths.
constexpr Spared kSpared[] = {
    {"estimator/app/cli/", "the door"},
    {"estimator/settings/", "what help says of each, and which verbs refuse it"},
    {"estimator/app/report/",
     "views of the command: what its pages and tables say of its own flags"},
    {"estimator/app/html/", "the same"},
    {"graph/tools/", "the build's own programs"},
    {"calibrate/", "a command of its own"},
    {"monitor/", "a command of its own"},
};

// Flags of other programs, in literals that name them.
constexpr std::string_view kOthers[] = {"tf2onnx", "nvprof", "nsys", "--cfg job"};

std::vector<Written> named_flags(const SourceText& source) {
  static const std::regex kFlag("--[a-z{]");
  std::vector<Written> found;
  for (const Written& literal : source.literals) {
    const auto names = [&](std::string_view other) {
      return literal.text.find(other) != std::string::npos;
    };
    if (std::regex_search(literal.text, kFlag) && std::ranges::none_of(kOthers, names))
      found.push_back(literal);
  }
  return found;
}

}  // namespace

TEST_CASE("flags are named at the door alone") {
  const SourceText example = plimsoll::test::read_source(
      "a(\"give --batch N\");\n// \"--batch\"\nb();  // \"--mem\"\n--i;\nc(R\"(--gpu)\");");
  CHECK(named_flags(example).size() == 2);

  for (const SourceText& source : plimsoll::test::all_sources()) {
    const auto spares = [&](const Spared& one) { return source.path.starts_with(one.path); };
    if (std::ranges::any_of(kSpared, spares)) continue;
    for (const Written& flag : named_flags(source))
      FAIL_CHECK(source.path << ":" << flag.line << ": name a setting(): " << flag.text);
  }
}
