#include "graph/base/folder.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/support/scratch.h"

namespace plimsoll::test {

TEST_CASE("folder: what lies in one, sorted, and what is one") {
  const Scratch scratch;
  const std::string file = scratch.write("b.txt", "x");
  scratch.write("a.txt", "");
  const std::string folder = path_in(scratch.path(""), "c");
  REQUIRE(std::filesystem::create_directory(folder));
  CHECK(names_in(scratch.path("")) == std::vector<std::string>{"a.txt", "b.txt", "c"});
  CHECK(names_in(scratch.path(""), 1).size() == 1);
  CHECK(is_folder(folder));
  CHECK_FALSE(is_folder(file));
  CHECK(path_exists(file));
  CHECK_FALSE(path_exists(path_in(folder, "nothing")));
  CHECK(names_in(folder).empty());
  CHECK(names_in(path_in(folder, "nothing")).empty());
}

TEST_CASE("folder: paths are put together with one slash") {
  CHECK(path_in("", "a") == "a");
  CHECK(path_in("x", "a") == "x/a");
  CHECK(path_in("x/", "a") == "x/a");
  CHECK(path_in("x", "") == "x/");
}

}  // namespace plimsoll::test
