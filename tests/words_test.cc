// Words that are nobody's but this project's, in identifiers: tests/words.txt has how often each is
// still used and the field's own term. The numbers may only fall; PLIMSOLL_WORDS=write lowers them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/source_text.h"

namespace {

struct Word {
  std::string word;
  int most = 0;
  std::string instead;
};

const std::string kWordsFile = std::string(PLIMSOLL_SOURCE_DIR) + "/tests/words.txt";

std::vector<Word> listed_words() {
  std::vector<Word> words;
  std::ifstream in(kWordsFile);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    Word word;
    std::istringstream fields(line);
    fields >> word.word >> word.most >> std::ws;
    std::getline(fields, word.instead);
    words.push_back(word);
  }
  return words;
}

// "kWithoutEffect" and "without_effect" are "without" and "effect".
std::vector<std::string> words_of(const std::string& identifier) {
  std::vector<std::string> words(1);
  for (size_t i = 0; i < identifier.size(); ++i) {
    const auto c = static_cast<unsigned char>(identifier[i]);
    const bool after_lower = i > 0 && std::islower(static_cast<unsigned char>(identifier[i - 1]));
    if (c == '_' || (std::isupper(c) && after_lower)) words.emplace_back();
    if (c != '_') words.back() += static_cast<char>(std::tolower(c));
  }
  return words;
}

}  // namespace

TEST_CASE("words: condemned ones become fewer") {
  CHECK(words_of("kOfMemory_alone") == std::vector<std::string>{"k", "of", "memory", "alone"});
  std::map<std::string, int> used;
  for (const auto& source : plimsoll::test::all_sources()) {
    for (const auto& identifier : source.identifiers) {
      for (const std::string& word : words_of(identifier.text)) ++used[word];
    }
  }
  const std::vector<Word> words = listed_words();
  CHECK(words.size() > 30);
  for (const Word& word : words) {
    CHECK_MESSAGE(used[word.word] <= word.most, "'" << word.word << "' is used " << used[word.word]
                                                    << " times, at most " << word.most << "; say "
                                                    << word.instead);
  }
  const char* const mode = std::getenv("PLIMSOLL_WORDS");
  if (!mode || std::string_view(mode) != "write") return;
  std::ofstream out(kWordsFile);
  out << "# Word, how often identifiers of the rooms use it, what to say instead "
         "(words_test.cc).\n";
  for (const Word& word : words)
    out << word.word << " " << std::min(word.most, used[word.word]) << " " << word.instead << "\n";
}
