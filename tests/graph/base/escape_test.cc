#include "graph/base/escape.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

using namespace plimsoll;
using namespace std::string_literals;

namespace {

const std::vector<std::string> kHostile = {
    "a\n::error file=x::b",
    "\x1b[2J\x1b]0;x\x07\r\b\x7f",
    "\x1b]52;c;aGk=\x07",
    "\xE2\x80\xAE gnp.exe \xE2\x81\xA6",
    "\xC2\x9B\x33\x31m",  // CSI as one character
    "\xFF\xC3( \xED\xA0\x80",
    "\xF3\xA0\x81\x81 tag, \xCC\x81 mark",
    "tab\t, \xE2\x80\xA8 line, \xEF\xBB\xBF",
    "$(rm x) `rm y` 'q' \"d\" \\ ; & | < > ~ # ! * ? [ ] { }",
    "-rf",
    "it's",
    "it's\nnot",
    "",
    "plain/name_1.0:x",
    "\xC3\xA4\xE6\xBC\xA2\xF0\x9F\x98\x80",
};

// What a shell makes of one word.
std::string read_by_bash(const std::string& word) {
  const std::string script = "printf %s " + word;
  std::string quoted;
  for (const char c : script) quoted += c == '\'' ? R"('\'')" : std::string(1, c);
  FILE* out = ::popen(("exec bash --norc -c '" + quoted + "'").c_str(), "r");
  REQUIRE(out);
  std::string text;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) text += static_cast<char>(c);
  CHECK(::pclose(out) == 0);
  return text;
}

}  // namespace

TEST_CASE("escape: whatever a text was, it becomes one line of plain characters") {
  for (const std::string& text : kHostile) {
    const std::string shown = escaped(text);
    CAPTURE(shown);
    CHECK(to_valid_utf8(shown) == shown);
    CHECK(escaped(shown) == shown);
    for (const char c : shown) {
      const auto byte = static_cast<unsigned char>(c);
      CHECK_FALSE((byte < 0x20 || byte == 0x7F));
    }
  }
  CHECK(escaped("a\n\x1b[2J\xFF") == "a\\n\\x1b[2J\\xff");
  CHECK(escaped("\xE2\x80\xAEx\xC2\x9B") == "\\u202ex\\u009b");
  CHECK(escaped("\xF3\xA0\x81\x81") == "\\U000e0041");
  CHECK(escaped("\xC3\xA4\xE6\xBC\xA2\xF0\x9F\x98\x80") == "\xC3\xA4\xE6\xBC\xA2\xF0\x9F\x98\x80");
}

TEST_CASE("escape: of a format's arguments the texts are escaped, the format is not") {
  const char* literal = "\x07";
  CHECK(escaped_format("{}\n{:>4}|{:.1f}\t{}", "a\nb"s, std::string_view("\r"), 1.25, literal) ==
        "a\\nb\n\\x0d|1.2\t\\x07");
}

TEST_CASE("escape: long texts lose their middle, between characters") {
  CHECK(shortened("abcdef", 6) == "abcdef");
  CHECK(shortened(std::string(30, 'n'), 9) == "nnn...nnn");
  std::string umlauts;
  for (int i = 0; i < 50; ++i) umlauts += "\xC3\xA4";
  for (size_t columns = 4; columns < 40; ++columns) {
    const std::string cut = shortened(umlauts, columns);
    CHECK(cut.size() <= columns);
    CHECK(to_valid_utf8(cut) == cut);
  }
}

TEST_CASE("escape: a quoted word is that word to a shell, and harmless to a terminal") {
  CHECK(shell_quoted("sequence") == "sequence");
  CHECK(shell_quoted("a b") == "'a b'");
  for (const std::string& word : kHostile) {
    const std::string quoted = shell_quoted(word);
    CAPTURE(quoted);
    CHECK(escaped(quoted) == quoted);
    CHECK(read_by_bash(quoted) == word);
  }
}

TEST_CASE("escape: JSON says the same text, in characters that no terminal minds") {
  for (const std::string& text : kHostile) {
    const std::string inner = escaped_for_json(text);
    CAPTURE(inner);
    CHECK(escaped(inner) == inner);
    CHECK(inner.find('<') == std::string::npos);
    CHECK(nlohmann::json::parse("\"" + inner + "\"").get<std::string>() == to_valid_utf8(text));
  }
}
