#include "monitor/line_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/support/scratch.h"

using plimsoll::monitor::LineFile;
using plimsoll::test::Scratch;
using OpenMode = LineFile::Mode;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("lines stand alone in a new file, or where one that is there is replaced") {
  const Scratch scratch;
  const std::string path = scratch.write("lines", "old\n");
  CHECK(LineFile::open(path, OpenMode::kNew).error().front().code == "E610");
  CHECK(text_of(path) == "old\n");
  auto file = LineFile::open(path, OpenMode::kReplace);
  REQUIRE(file);
  CHECK(file->add("new\n"));
  CHECK(text_of(path) == "new\n");  // without waiting for the end
}

TEST_CASE("what cannot be written is told once") {
  const Scratch scratch;
  CHECK(LineFile::open(scratch.path("no/such/folder"), OpenMode::kNew).error().front().code ==
        "E612");
  REQUIRE(::symlink("/dev/null", scratch.path("link").c_str()) == 0);
  CHECK(LineFile::open(scratch.path("link"), OpenMode::kReplace).error().front().code == "E612");
  auto full = LineFile::open("/dev/full", OpenMode::kReplace);
  REQUIRE(full);
  CHECK(full->add("line\n").error().front().code == "E612");
  CHECK(full->add("line\n"));
}

TEST_CASE("a file that has a second name is not replaced") {
  const Scratch scratch;
  const std::string path = scratch.write("lines", "old\n");
  REQUIRE(::link(path.c_str(), scratch.path("other").c_str()) == 0);
  CHECK(LineFile::open(path, OpenMode::kReplace).error().front().code == "E612");
  CHECK(text_of(path) == "old\n");
}
