// The library is asked from the command line, from Python, from C++ and by plans of sweeps: below
// the door nobody knows of flags. A message names a setting (graph/base/setting.h).
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Spared {
  std::string_view path, why;
};

// Beginnings of paths.
constexpr Spared kSpared[] = {
    {"estimator/cli/", "the door"},
    {"estimator/report/", "views of the command: what its pages and tables say of its own flags"},
    {"graph/config/model_config_schema.cc", "a schema, printed as it stands"},
    {"graph/tools/", "the build's own programs"},
};

// Flags of other programs, in lines that name them.
constexpr std::string_view kOthers[] = {"tf2onnx", "nvprof", "nsys", "--cfg job"};

// Lines of a source with a string literal that names a flag, comments left out.
std::vector<std::string> named_flags(std::istream& source) {
  static const std::regex kFlag("\"(?:[^\"\\\\]|\\\\.)*--[a-z{](?:[^\"\\\\]|\\\\.)*\"");
  std::vector<std::string> found;
  for (std::string line; std::getline(source, line);) {
    if (line.find_first_not_of(' ') == line.find("//")) continue;
    const size_t comment = line.find("  // ");
    if (!std::regex_search(line.substr(0, comment), kFlag)) continue;
    const auto is_other = [&](std::string_view other) { return line.find(other) != line.npos; };
    if (std::ranges::none_of(kOthers, is_other)) found.push_back(line);
  }
  return found;
}

}  // namespace

TEST_CASE("flags are named at the door alone") {
  std::istringstream example("a(\"give --batch N\");\n// \"--batch\"\nb();  // \"--mem\"\n--i;\n");
  CHECK(named_flags(example).size() == 1);

  const fs::path root = PLIMSOLL_SOURCE_DIR;
  for (const auto room : {"graph", "hwdb", "estimator"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      const auto extension = entry.path().extension();
      const std::string file = fs::relative(entry.path(), root).string();
      const auto spares = [&](const Spared& one) { return file.starts_with(one.path); };
      if ((extension != ".cc" && extension != ".h") || std::ranges::any_of(kSpared, spares))
        continue;
      std::ifstream source(entry.path());
      for (const std::string& line : named_flags(source))
        FAIL_CHECK(file << ": name a setting(): " << line);
    }
  }
}
