// README.md and docs show what the program prints. In their blocks "..." stands for any lines;
// where PLIMSOLL_README=write is set, blocks without one are written anew instead of compared.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {
namespace {

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Of a sweep: how long it took. Elsewhere lines are compared as they are.
std::string without_seconds(const std::string& line) {
  const size_t at = line.find(" not fit; ");
  return at == line.npos ? line : line.substr(0, at);
}

bool matches(const std::vector<std::string>& shown, size_t i,
             const std::vector<std::string>& printed, size_t j) {
  if (i == shown.size()) return j == printed.size();
  if (shown[i] == "...") {
    for (size_t k = j; k <= printed.size(); ++k) {
      if (matches(shown, i + 1, printed, k)) return true;
    }
    return false;
  }
  return j < printed.size() && without_seconds(shown[i]) == without_seconds(printed[j]) &&
         matches(shown, i + 1, printed, j + 1);
}

std::vector<std::string> printed_by(const std::string& command) {
  std::istringstream in(command);
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    const bool quoted = word.size() > 1 && word.front() == '\'' && word.back() == '\'';
    words.push_back(quoted ? word.substr(1, word.size() - 2) : word);
  }
  words.erase(words.begin());  // "plimsoll"
  return split_lines(run_plimsoll(words, {.folder = PLIMSOLL_SOURCE_DIR}).out);
}

// How many commands it shows. Written anew where PLIMSOLL_README=write asks for it.
size_t check_page(const std::string& path) {
  CAPTURE(path);
  const char* const mode = std::getenv("PLIMSOLL_README");
  const bool write = mode && std::string_view(mode) == "write";
  const std::vector<std::string> lines = split_lines(detail::text_of(path));
  std::vector<std::string> written;
  size_t commands = 0;
  for (size_t at = 0; at < lines.size(); ++at) {
    written.push_back(lines[at]);
    constexpr std::string_view kPrompt = "$ ";
    if (!lines[at].starts_with("$ plimsoll ")) continue;
    CAPTURE(lines[at]);
    std::vector<std::string> shown;
    while (at + 1 < lines.size() && lines[at + 1] != "```" && !lines[at + 1].starts_with(kPrompt))
      shown.push_back(lines[++at]);
    const std::vector<std::string> printed = printed_by(written.back().substr(kPrompt.size()));
    ++commands;
    CHECK(!printed.empty());
    const bool abridged = std::ranges::find(shown, "...") != shown.end();
    if (!write || abridged) CHECK_MESSAGE(matches(shown, 0, printed, 0), joined(printed));
    const std::vector<std::string>& kept = write && !abridged ? printed : shown;
    written.insert(written.end(), kept.begin(), kept.end());
  }
  if (write) std::ofstream(path) << joined(written);
  return commands;
}

}  // namespace

TEST_CASE("README and docs: their commands print what they show") {
  if (skipped()) return;
  std::vector<std::string> pages = {std::string(PLIMSOLL_SOURCE_DIR) + "/README.md"};
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(PLIMSOLL_SOURCE_DIR) + "/docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path().string());
  }
  size_t commands = 0;
  for (const std::string& page : pages) commands += check_page(page);
  CHECK(commands >= 6);
}

}  // namespace plimsoll::test
