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

TEST_CASE("lines are added to what is there, or stand alone where a new file is asked for") {
  const Scratch scratch;
  const std::string path = scratch.write("lines", "old\n");
  {
    auto file = LineFile::open(path, OpenMode::kAppend);
    REQUIRE(file);
    CHECK(file->add("new\n"));
    CHECK(text_of(path) == "old\nnew\n");  // without waiting for the end
  }
  CHECK(LineFile::open(path, OpenMode::kNew).error().front().code == "E610");
  CHECK(text_of(path) == "old\nnew\n");
  CHECK(LineFile::open(path, OpenMode::kReplace));
  CHECK(text_of(path).empty());
}

TEST_CASE("what cannot be written is told once") {
  const Scratch scratch;
  CHECK(LineFile::open(scratch.path("no/such/folder"), OpenMode::kNew).error().front().code ==
        "E612");
  REQUIRE(::symlink("/dev/null", scratch.path("link").c_str()) == 0);
  CHECK(LineFile::open(scratch.path("link"), OpenMode::kAppend).error().front().code == "E612");
  auto full = LineFile::open("/dev/full", OpenMode::kAppend);
  REQUIRE(full);
  CHECK(full->add("line\n").error().front().code == "E612");
  CHECK(full->add("line\n"));
}
