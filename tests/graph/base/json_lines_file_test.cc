#include "graph/base/json_lines_file.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "tests/support/scratch.h"

using namespace plimsoll;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a file of JSON lines: appended to, and gone on with") {
  const test::Scratch scratch;
  const std::string path = scratch.path("a.jsonl");
  {
    auto file = JsonLinesFile::open(path);
    REQUIRE(file);
    CHECK(file->lines().empty());
    CHECK(file->append(R"({"n":1})"));
    CHECK(file->append(R"({"n":2})"));
  }
  auto again = JsonLinesFile::open(path);
  REQUIRE(again);
  CHECK(again->lines() == std::vector<std::string>{R"({"n":1})", R"({"n":2})"});
  CHECK(again->torn_bytes() == 0);
  CHECK(again->append("{}"));
  CHECK(text_of(path) == "{\"n\":1}\n{\"n\":2}\n{}\n");
}

TEST_CASE("a file of JSON lines: a torn end is cut off wherever it was torn") {
  const std::string whole = "{\"first\":1}\n{\"second\":2}\n";
  for (size_t size = 0; size <= whole.size(); ++size) {
    const test::Scratch scratch;
    const std::string path = scratch.write("a.jsonl", whole.substr(0, size));
    const size_t kept = whole.substr(0, size).rfind('\n') + 1;  // npos + 1 is 0
    {
      auto file = JsonLinesFile::open(path);
      REQUIRE(file);
      CHECK(file->torn_bytes() == size - kept);
      CHECK(file->append("{}"));
    }
    CHECK(text_of(path) == whole.substr(0, kept) + "{}\n");
  }
}

TEST_CASE("a file of JSON lines: one writer at a time; a folder is none") {
  const test::Scratch scratch;
  const std::string path = scratch.path("a.jsonl");
  {
    auto first = JsonLinesFile::open(path);
    REQUIRE(first);
    CHECK(JsonLinesFile::open(path).error()[0].code == "E706");
  }
  CHECK(JsonLinesFile::open(path).has_value());
  CHECK(JsonLinesFile::open(scratch.path("")).error()[0].code == "E612");
}
