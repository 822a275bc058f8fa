// What every verb prints is stored, so that a change of it shows in the difference: exit status,
// standard output, standard error and a page's data, byte by byte. PLIMSOLL_OUTPUTS=write stores
// what is printed today.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {
namespace {

namespace fs = std::filesystem;

struct Command {
  std::string name;
  std::vector<std::string> words;
};

const std::string kOutputs = std::string(PLIMSOLL_SOURCE_DIR) + "/tests/outputs/";

std::vector<Command> listed_commands() {
  std::vector<Command> commands;
  std::ifstream in(kOutputs + "commands.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    const size_t colon = line.find(": ");
    Command command{line.substr(0, colon), {}};
    std::istringstream words(line.substr(colon + 2));
    for (std::string word; words >> word;) command.words.push_back(word);
    commands.push_back(command);
  }
  return commands;
}

// The data that a page holds, a member a line.
std::string page_data(const std::string& page) {
  const std::string open = "id=\"plimsoll-result\">";
  const size_t begin = page.find(open) + open.size();
  const size_t end = page.find("</script>", begin);
  return nlohmann::ordered_json::parse(page.substr(begin, end - begin)).dump(1);
}

// How long a sweep took is no two runs' own.
std::string without_seconds(const std::string& text) {
  static const std::regex kSeconds("(\"seconds\": ?|not fit; computed in )[0-9.e+-]+( s)?");
  return std::regex_replace(text, kSeconds, "$1...");
}

// The settings of a request are those of all rows: tests/estimator/settings asks what is written of
// each, and a setting more changes none of these.
std::string without_settings(std::string text) {
  const std::string begin = "\"request\":", end = "\"request_given\":";
  for (size_t at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
    const size_t from = at + begin.size(), to = text.find(end, from);
    if (to != text.npos) text.replace(from, to - from, "{...},");
  }
  return text;
}

std::string printed_by(const Command& command) {
  const Scratch scratch;
  const std::string page = scratch.path("page.html");
  std::vector<std::string> words = command.words;
  std::ranges::replace(words, std::string("PAGE"), page);
  RunOptions options{.folder = PLIMSOLL_SOURCE_DIR};
  if (const auto from = std::ranges::find(words, "<"); from != words.end()) {
    options.input = detail::text_of(PLIMSOLL_SOURCE_DIR + ("/" + *std::next(from)));
    words.erase(from, from + 2);
  }
  const Ran ran = run_plimsoll(words, options);
  std::string text = "exit status " + std::to_string(ran.status) + "\n" + ran.out;
  if (!ran.err.empty()) text += "== standard error\n" + ran.err;
  if (fs::exists(page)) text += "== page\n" + page_data(detail::text_of(page)) + "\n";
  return without_settings(without_seconds(text));
}

// The first lines that differ, for whoever reads the failure.
std::string first_difference(const std::string& stored, const std::string& printed) {
  std::istringstream a(stored), b(printed);
  std::string was, is;
  for (int line = 1;; ++line) {
    const bool more_a = static_cast<bool>(std::getline(a, was));
    const bool more_b = static_cast<bool>(std::getline(b, is));
    if (!more_a) was.clear();
    if (!more_b) is.clear();
    if (was != is || !(more_a || more_b))
      return "line " + std::to_string(line) + "\n  stored:  " + was + "\n  printed: " + is;
  }
}

bool writes_outputs() {
  const char* const mode = std::getenv("PLIMSOLL_OUTPUTS");
  return mode && std::string_view(mode) == "write";
}

}  // namespace

TEST_CASE("outputs: every verb prints what is stored") {
  if (skipped()) return;
  std::set<std::string> stored;
  for (const Command& command : listed_commands()) {
    const std::string file = kOutputs + command.name + ".txt";
    const std::string printed = printed_by(command);
    CHECK_MESSAGE(stored.insert(command.name + ".txt").second, command.name << " is listed twice");
    if (writes_outputs()) {
      std::ofstream(file, std::ios::binary) << printed;
      continue;
    }
    const std::string before = detail::text_of(file);
    CHECK_MESSAGE(printed == before, command.name << ": " << first_difference(before, printed)
                                                  << "\n  PLIMSOLL_OUTPUTS=write stores it");
  }
  CHECK(stored.size() >= 60);
  for (const auto& entry : fs::directory_iterator(kOutputs)) {
    const std::string name = entry.path().filename().string();
    if (name == "commands.txt" || entry.path().extension() != ".txt") continue;
    CHECK_MESSAGE(stored.contains(name), name << " is of no command in commands.txt");
  }
}

}  // namespace plimsoll::test
