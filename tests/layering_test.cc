// The doors open one way: graph <- hwdb <- estimator <- calibrate, monitor. Read from the includes.
#include <doctest/doctest.h>

#include <algorithm>
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

using Includes = std::map<std::string, std::set<std::string>>;

// Those of `included` that are in a cycle, or reach one: whoever includes nothing that is left
// goes.
std::string cyclic(Includes included) {
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

// What each file includes of the rooms, each named by `name`: folder_of, or unit_of.
Includes includes_by(std::string (*name)(const std::string&)) {
  Includes found;
  for (const auto room : kRooms) {
    for (const Include& inc : includes_of(PLIMSOLL_SOURCE_DIR, room)) {
      auto& of = found[name(inc.file)];
      if (level(inc.included) == kRooms.size()) continue;
      if (name(inc.included) != name(inc.file)) of.insert(name(inc.included));
    }
  }
  return found;
}

TEST_CASE("neither files nor folders include each other, however indirectly") {
  const Includes files = includes_by(unit_of), folders = includes_by(folder_of);
  REQUIRE(files.size() > 300);
  REQUIRE(folders.size() > 20);
  CHECK(cyclic(files) == "");
  CHECK(cyclic(folders) == "");
}

// All that each reaches; nothing may be in a cycle.
Includes reached(const Includes& includes) {
  Includes all;
  const auto visit = [&](const auto& self,
                         const std::string& from) -> const std::set<std::string>& {
    const auto known = all.find(from);
    if (known != all.end()) return known->second;
    std::set<std::string> found;
    for (const std::string& to : includes.at(from)) {
      found.insert(to);
      found.merge(std::set(self(self, to)));
    }
    return all[from] = std::move(found);
  };
  for (const auto& one : includes) visit(visit, one.first);
  return all;
}

// "<title>graph/ops&#45;&gt;graph/eager</title>" of an arrow, "<title>graph/ops</title>" of a box.
Includes arrows_in(const fs::path& picture) {
  constexpr std::string_view kBegin = "<title>", kEnd = "</title>", kArrow = "&#45;&gt;";
  Includes arrows;
  std::ifstream in(picture);
  for (std::string line; std::getline(in, line);) {
    const size_t begin = line.find(kBegin), end = line.find(kEnd);
    if (begin == line.npos || end == line.npos) continue;
    const std::string title = line.substr(begin + kBegin.size(), end - begin - kBegin.size());
    const size_t arrow = title.find(kArrow);
    if (arrow != title.npos) {
      arrows[title.substr(0, arrow)].insert(title.substr(arrow + kArrow.size()));
    } else if (title != "rooms" && !title.starts_with("cluster_")) {
      arrows[title];
    }
  }
  return arrows;
}

TEST_CASE("the picture of the rooms is of today's includes: run docs/rooms.sh") {
  const Includes drawn = arrows_in(PLIMSOLL_SOURCE_DIR "/docs/rooms.svg");
  const Includes folders = includes_by(folder_of);
  CHECK(reached(drawn) == reached(folders));
  // An arrow is drawn where there is no other way.
  const Includes all = reached(folders);
  for (const auto& arrows : drawn) {
    for (const std::string& to : arrows.second) {
      const bool implied = std::ranges::any_of(
          arrows.second, [&](const std::string& other) { return all.at(other).contains(to); });
      CHECK_MESSAGE(!implied, arrows.first << " reaches " << to << " by another way");
    }
  }
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

// What a framework does comes to the engine as a Behaviour (estimator/behaviour).
TEST_CASE("the engine reads no framework's profile") {
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  size_t lines = 0;
  for (const auto folder : {"graph", "estimator/step", "estimator/kernels", "estimator/library",
                            "estimator/model", "estimator/memory", "estimator/time"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line); ++lines) {
        for (const auto word : {"FrameworkProfile", "platform.framework", "platform_.framework"})
          CHECK_MESSAGE(line.find(word) == line.npos, entry.path().string() << ": " << line);
      }
    }
  }
  CHECK(lines > 10000);
}

TEST_CASE("each package has one door") {
  const std::vector<Door> doors = {
      {"google/protobuf", {"graph/base/varint."}},
      {"nlohmann", {"graph/json/"}},
      {"CLI/", {"estimator/app/cli/flag_set."}},
      {"Eigen", {"calibrate/"}},
      {"yaml-cpp", {"graph/json/"}},
      {"toml++", {"graph/json/"}},
      {"nettle", {"graph/base/sha256.", "graph/base/base64."}},
      {"zlib", {"graph/base/inflate.", "graph/tools/"}},
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
      if (file.starts_with("estimator/app/cli/") || file.find("/tools/") != file.npos) continue;
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
