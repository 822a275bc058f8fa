#include "tests/support/source_text.h"

#include <doctest/doctest.h>

using namespace plimsoll::test;

TEST_CASE("source text: literals, comments and identifiers are told apart") {
  const SourceText read = read_source(
      "// see \"a.h\"\n"
      "int count = f(\"x // no\", '\"', 1'000);  /* two\nlines */\n"
      "auto raw = R\"q(\"in\" // it)q\"; const char* b = \"say \\\"so\\\"\";\n");
  REQUIRE(read.comments.size() == 2);
  CHECK(read.comments[0].text == "// see \"a.h\"");
  CHECK(read.comments[1].line == 2);
  REQUIRE(read.literals.size() == 3);
  CHECK(read.literals[0].text == "x // no");
  CHECK(read.literals[1].text == "\"in\" // it");
  CHECK(read.literals[1].line == 4);
  CHECK(read.literals[2].text == "say \\\"so\\\"");
  CHECK(read.identifiers.front().text == "int");
  CHECK(read.identifiers.back().text == "b");
}
