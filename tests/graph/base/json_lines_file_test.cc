#include "graph/base/json_lines_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/support/scratch.h"

using namespace plimsoll;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const JsonLines kForm = {.begins = {R"({"n":)", R"({"first":)", R"({"second":)"}};

}  // namespace

TEST_CASE("a file of JSON lines: appended to, and gone on with") {
  const test::Scratch scratch;
  const std::string path = scratch.path("a.jsonl");
  {
    auto file = JsonLinesFile::open(path, kForm);
    REQUIRE(file);
    CHECK(file->lines().empty());
    CHECK(file->append(R"({"n":1})"));
    CHECK(file->append(R"({"n":2})"));
  }
  auto again = JsonLinesFile::open(path, kForm);
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
      auto file = JsonLinesFile::open(path, kForm);
      REQUIRE(file);
      CHECK(file->torn_bytes() == size - kept);
      CHECK(file->cut_torn_end());
      CHECK(text_of(path) == whole.substr(0, kept));  // also where nothing is left to append
      CHECK(file->append("{}"));
    }
    CHECK(text_of(path) == whole.substr(0, kept) + "{}\n");
  }
}

TEST_CASE("a file of JSON lines: one writer at a time; a folder is none") {
  const test::Scratch scratch;
  const std::string path = scratch.path("a.jsonl");
  {
    auto first = JsonLinesFile::open(path, kForm);
    REQUIRE(first);
    CHECK(JsonLinesFile::open(path, kForm).error()[0].code == "E706");
  }
  CHECK(JsonLinesFile::open(path, kForm).has_value());
  CHECK(JsonLinesFile::open(scratch.path(""), kForm).error()[0].code == "E612");
}

TEST_CASE("a file of JSON lines: what is somebody else's stays as it is") {
  const test::Scratch scratch;
  for (const char* text : {"notes of a user\nthe last line has no newline", "notes", "{\"m\": 1}",
                           "{\"n\":1}\nsome words", "name,bytes\n1,2\n"}) {
    CAPTURE(text);
    const std::string path = scratch.write("notes.txt", text);
    CHECK(JsonLinesFile::open(path, kForm).error()[0].code == "E321");
    CHECK(text_of(path) == text);
  }
  // Whoever opens it and finds records that are none of this run's changes nothing.
  const std::string path = scratch.write("a.jsonl", "{\"n\":1}\n{\"n\":");
  CHECK(JsonLinesFile::open(path, kForm)->torn_bytes() == 5);
  CHECK(text_of(path) == "{\"n\":1}\n{\"n\":");
}

TEST_CASE("a file of JSON lines: not through a link, nor into what is no plain file") {
  const test::Scratch scratch;
  const std::string path = scratch.write("a.jsonl", "{\"n\":1}\n");
  REQUIRE(::symlink(path.c_str(), scratch.path("soft").c_str()) == 0);
  CHECK(JsonLinesFile::open(scratch.path("soft"), kForm).error()[0].code == "E612");
  REQUIRE(::link(path.c_str(), scratch.path("hard").c_str()) == 0);
  for (const char* name : {"a.jsonl", "hard"})
    CHECK(JsonLinesFile::open(scratch.path(name), kForm).error()[0].code == "E612");
  CHECK(JsonLinesFile::open("/dev/full", kForm).error()[0].code == "E612");
  REQUIRE(::mkfifo(scratch.path("pipe").c_str(), 0600) == 0);
  CHECK(JsonLinesFile::open(scratch.path("pipe"), kForm).error()[0].code == "E612");
  CHECK(text_of(path) == "{\"n\":1}\n");
}
