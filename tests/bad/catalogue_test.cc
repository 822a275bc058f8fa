// The catalogue of bad inputs: each of its rows is held by tests, or says why it is not built.
// catalogue.json has a line for each: add a test's name there, and the row is its test's.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The names of all test cases, their literals joined.
std::set<std::string> test_names() {
  const std::regex test(R"re(TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\))re");
  const std::regex piece(R"re("((?:[^"\\]|\\.)*)")re");
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(PLIMSOLL_SOURCE_DIR "/tests")) {
    if (!entry.path().string().ends_with("_test.cc")) continue;
    const std::string text = text_of(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), test), end; at != end; ++at) {
      const std::string literals = (*at)[1];
      std::string name;
      for (std::sregex_iterator p(literals.begin(), literals.end(), piece); p != end; ++p)
        name += (*p)[1];
      names.insert(name);
    }
  }
  return names;
}

// A1 to A53, B1 to B21 and so on: 166.
std::vector<std::string> row_names() {
  constexpr std::pair<char, int> kParts[] = {{'A', 53}, {'B', 21}, {'C', 11}, {'D', 10},
                                             {'E', 16}, {'F', 19}, {'G', 19}, {'H', 17}};
  std::vector<std::string> names;
  for (const auto& [part, rows] : kParts) {
    for (int row = 1; row <= rows; ++row) names.push_back(part + std::to_string(row));
  }
  return names;
}

}  // namespace

TEST_CASE("catalogue: every row of bad inputs has its tests, or a reason why it is not built") {
  const json catalogue = json::parse(text_of(PLIMSOLL_SOURCE_DIR "/tests/bad/catalogue.json"));
  const std::set<std::string> tests = test_names();
  REQUIRE(tests.size() > 500);
  const std::vector<std::string> wanted = row_names();
  const json& rows = catalogue.at("rows");
  REQUIRE(rows.size() == wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const json& row = rows[i];
    CHECK(row.at("row") == wanted[i]);
    CHECK_MESSAGE(row.at("says").get<std::string>().size() > 5, wanted[i]);
    CHECK_MESSAGE(row.contains("tests") != row.contains("missing"), wanted[i]);
    for (const json& test : row.value("tests", json::array()))
      CHECK_MESSAGE(tests.contains(test), wanted[i] << ": there is no test \"" << test << "\"");
    if (row.contains("missing"))
      CHECK_MESSAGE(row["missing"].get<std::string>().size() > 5, wanted[i]);
  }
}
