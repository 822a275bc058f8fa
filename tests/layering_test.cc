// The doors open one way: graph <- hwdb <- estimator <- calibrate, monitor. Read from the includes.
#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kRooms = {"graph", "hwdb", "estimator", "calibrate",
                                                    "monitor"};

struct Include {
  std::string file, included;
};

std::vector<Include> includes_of(const fs::path& root, std::string_view room) {
  std::vector<Include> found;
  for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
    const auto extension = entry.path().extension();
    if (extension != ".cc" && extension != ".h") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with("#include ")) continue;
      found.push_back(
          {fs::relative(entry.path(), root).string(), line.substr(10, line.size() - 11)});
    }
  }
  return found;
}

size_t level(std::string_view path) {
  for (size_t i = 0; i < kRooms.size(); ++i) {
    if (path.starts_with(std::string(kRooms[i]) + "/")) return i;
  }
  return kRooms.size();
}

// A package and the only folders that may include it.
struct Door {
  std::string_view header;
  std::vector<std::string_view> folders;
};

}  // namespace

TEST_CASE("no room includes a later one") {
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  for (size_t i = 0; i < kRooms.size(); ++i) {
    for (const Include& inc : includes_of(root, kRooms[i])) {
      const size_t target = level(inc.included);
      if (target == kRooms.size()) continue;
      CHECK_MESSAGE(target <= i, inc.file << " includes " << inc.included);
    }
  }
}

// A file without its extension: a header and its source are one.
std::string unit_of(const std::string& file) {
  return file.ends_with(".cc") || file.ends_with(".h") ? file.substr(0, file.rfind('.')) : file;
}

std::string folder_of(const std::string& file) { return file.substr(0, file.rfind('/')); }

// Those of `included` that are in a cycle, or reach one: whoever includes nothing that is left
// goes.
std::string cyclic(std::map<std::string, std::set<std::string>> included) {
  for (bool any = true; any;) {
    any = false;
    for (auto at = included.begin(); at != included.end();) {
      std::erase_if(at->second, [&](const std::string& of) { return !included.contains(of); });
      any = any || at->second.empty();
      at = at->second.empty() ? included.erase(at) : std::next(at);
    }
  }
  std::string left;
  for (const auto& one : included) left += one.first + " ";
  return left;
}

TEST_CASE("neither files nor folders include each other, however indirectly") {
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  std::map<std::string, std::set<std::string>> files, folders;
  for (const auto room : kRooms) {
    for (const Include& inc : includes_of(root, room)) {
      if (level(inc.included) == kRooms.size()) continue;
      const auto add = [](auto& to, const std::string& from, const std::string& what) {
        if (from != what) to[from].insert(what);
      };
      add(files, unit_of(inc.file), unit_of(inc.included));
      add(folders, folder_of(inc.file), folder_of(inc.included));
    }
  }
  REQUIRE(files.size() > 300);
  REQUIRE(folders.size() > 20);
  CHECK(cyclic(files) == "");
  CHECK(cyclic(folders) == "");
}

// Rows of "| 4 | `graph/eager` | what it holds |".
std::map<std::string, int> levels_in(const fs::path& page) {
  std::map<std::string, int> levels;
  std::ifstream in(page);
  for (std::string line; std::getline(in, line);) {
    int level = 0, end = 0;
    if (std::sscanf(line.c_str(), "| %d | `%n", &level, &end) != 1 || end == 0) continue;
    const size_t from = static_cast<size_t>(end);
    levels[line.substr(from, line.find('`', from) - from)] = level;
  }
  return levels;
}

TEST_CASE("ARCHITECTURE.md has every folder at its level, and each includes lower ones") {
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  const std::map<std::string, int> levels = levels_in(root / "ARCHITECTURE.md");
  std::set<std::string> folders;
  for (const auto room : kRooms) {
    for (const Include& inc : includes_of(root, room)) {
      const std::string from = folder_of(inc.file), to = folder_of(inc.included);
      folders.insert(from);
      if (level(inc.included) == kRooms.size() || from == to) continue;
      REQUIRE_MESSAGE(levels.contains(from), from);
      REQUIRE_MESSAGE(levels.contains(to), to);
      CHECK_MESSAGE(levels.at(to) < levels.at(from), inc.file << " includes " << inc.included);
    }
  }
  for (const auto& row : levels) CHECK_MESSAGE(folders.contains(row.first), row.first);
}

TEST_CASE("each package has one door") {
  const std::vector<Door> doors = {
      {"google/protobuf", {"graph/onnx/"}},
      {"nlohmann", {"graph/json/"}},
      {"CLI/", {"estimator/cli/", "calibrate/", "monitor/main."}},
      {"Eigen", {"estimator/", "calibrate/"}},
      {"yaml-cpp", {"graph/json/"}},
      {"nettle", {"graph/base/hash.", "graph/base/base64."}},
      {"zlib", {"graph/base/embedded.", "graph/tools/"}},
      {"cudnn", {"calibrate/"}},
      {"cuda", {"calibrate/"}},
      {"nvml", {"calibrate/"}},
  };
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  for (const auto room : kRooms) {
    for (const Include& inc : includes_of(root, room)) {
      for (const Door& door : doors) {
        if (!inc.included.starts_with(door.header)) continue;
        bool allowed = false;
        for (const auto folder : door.folders) allowed = allowed || inc.file.starts_with(folder);
        CHECK_MESSAGE(allowed, inc.file << " includes " << inc.included);
      }
    }
  }
}

TEST_CASE("the library neither prints nor exits") {
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  for (const auto room : {"graph", "hwdb", "estimator"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      const std::string file = fs::relative(entry.path(), root).string();
      if (file.starts_with("estimator/cli/") || file.find("/tools/") != file.npos) continue;
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        for (const auto word :
             {"std::cout", "std::cerr", "printf(", "std::exit", "abort()", "getenv"}) {
          CHECK_MESSAGE(line.find(word) == std::string::npos, file << ": " << line);
        }
      }
    }
  }
}
