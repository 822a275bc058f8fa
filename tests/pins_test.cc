// What is fetched is what its hash says, or nothing is taken.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = PLIMSOLL_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  return std::regex_replace(text, std::regex(R"(\\\n\s*)"), " ");  // a command's lines as one
}

template <class See>
void each_line(const fs::path& path, See see) {
  std::istringstream lines(text_of(path));
  for (std::string line; std::getline(lines, line);) see(line);
}

}  // namespace

TEST_CASE("pins: every requirement names one version and what it hashes to") {
  const std::regex pinned(
      R"([A-Za-z0-9._-]+==[A-Za-z0-9.+!_-]+( ; [^#]+?)?( +--hash=sha256:[0-9a-f]{64})+\s*)");
  int requirements = 0;
  for (const auto& file : fs::directory_iterator(kRoot / "packaging/requirements")) {
    each_line(file.path(), [&](const std::string& line) {
      if (line.empty() || line.starts_with('#')) return;
      ++requirements;
      CAPTURE(file.path().string());
      CAPTURE(line);
      CHECK(std::regex_match(line, pinned));
    });
  }
  CHECK(requirements > 20);
}

// Of what the project is made of, tested with and shipped as. A package of our own, from a file,
// has no hash to know.
TEST_CASE("pins: pip takes nothing else") {
  const std::regex asks(R"(pip["']? +(install|download) )");
  const std::regex is_ours(
      R"((--no-deps|--no-index) .*(\$PLIMSOLL_WHEEL|\$wheel|plimsoll-gpu|\$WHEEL|WHEEL:-)| install (--quiet )?\.)");
  int commands = 0;
  const auto check = [&](const fs::path& path) {
    each_line(path, [&](const std::string& line) {
      if (!std::regex_search(line, asks) || line.starts_with('#')) return;
      ++commands;
      CAPTURE(path.string());
      CAPTURE(line);
      const bool hashed = line.find("--require-hashes") != std::string::npos &&
                          line.find("--requirement") != std::string::npos;
      CHECK((hashed || std::regex_search(line, is_ours)));
    });
  };
  check(kRoot / "dev");
  for (const char* folder : {"packaging", "tests", "calibrate"}) {
    for (const auto& file : fs::recursive_directory_iterator(kRoot / folder)) {
      if (file.path().extension() == ".sh") check(file.path());
    }
  }
  CHECK(commands > 5);
}
