// Words that are nobody's but this project's: tests/words.txt has how often each is still used in
// identifiers, and the field's own term. The numbers may only fall; PLIMSOLL_WORDS=write lowers
// them. Texts that users see have none of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/source_text.h"

namespace {

struct Word {
  std::string word;
  int most = 0;
  std::string instead;
};

// Good identifiers, but users read one word for one thing: "option".
constexpr std::string_view kOnlyIdentifiers[] = {"flag", "flags"};

// Texts of these files are about the key "flags" of measured runs, or the Python class Flags.
constexpr std::string_view kAboutFlags[] = {"estimator/app/report/measured_run_schema.cc",
                                            "estimator/app/cli/python_keywords.cc"};

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

// Of these files literals are written in a notation of tests and tables, which no user sees.
constexpr std::string_view kNotations[] = {"graph/eager/optimizers.cc", "graph/rewrite/patterns_",
                                           "graph/ir/text_writer.cc"};

bool is_notation(const std::string& path) {
  return std::ranges::any_of(kNotations, [&](auto begin) { return path.starts_with(begin); });
}

// The words of a text, in lower case; escapes are as they are written.
std::vector<std::string> words_of_text(std::string_view text) {
  std::vector<std::string> words(1);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\\') ++i;
    if (std::isalpha(c)) {
      words.back() += static_cast<char>(std::tolower(c));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

// What of a text is condemned; a text of one word is a name.
std::vector<std::string> condemned(std::string_view text, const std::vector<Word>& words) {
  std::vector<std::string> found;
  if (text.find(' ') == text.npos) return found;
  for (const std::string& used : words_of_text(text)) {
    if (std::ranges::any_of(words, [&](const Word& w) { return w.word == used; }))
      found.push_back(used);
  }
  return found;
}

void check_text(const std::string& place, std::string_view text, const std::vector<Word>& words) {
  for (const std::string& word : condemned(text, words))
    FAIL_CHECK(place << ": '" << word << "' in a text that users see: " << text);
}

}  // namespace

TEST_CASE("words: texts that users see have none of the condemned") {
  const std::vector<Word> identifiers = listed_words();
  std::vector<Word> words = identifiers;
  for (const std::string_view word : kOnlyIdentifiers)
    words.push_back({std::string(word), 0, "option"});
  CHECK(condemned("in a file of its own\\nas asked", words) ==
        std::vector<std::string>{"own", "asked"});
  CHECK(condemned("own", words).empty());
  CHECK(condemned("no such flag", words) == std::vector<std::string>{"flag"});
  for (const auto& source : plimsoll::test::all_sources()) {
    if (is_notation(source.path)) continue;
    const bool about_flags = std::ranges::find(kAboutFlags, source.path) != std::end(kAboutFlags);
    for (const auto& literal : source.literals) {
      check_text(source.path + ":" + std::to_string(literal.line), literal.text,
                 about_flags ? identifiers : words);
    }
  }
  const std::string room = std::string(PLIMSOLL_SOURCE_DIR) + "/estimator/";
  std::ifstream explanations(room + "explanations.json");
  int lines = 0;
  for (std::string line; std::getline(explanations, line);) {
    check_text("explanations.json:" + std::to_string(++lines), line, words);
  }
  CHECK(lines > 900);
}

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
