#include "graph/base/distinct_files.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/support/scratch.h"

using namespace plimsoll;

TEST_CASE("files that are written: each is one of its own") {
  const test::Scratch scratch;
  const std::string there = scratch.write("there", "a"), other = scratch.write("other", "b");
  const std::string fresh = scratch.path("fresh"), hard = scratch.path("hard");
  REQUIRE(::link(there.c_str(), hard.c_str()) == 0);
  CHECK(distinct_files({{"out", there}, {"html", other}, {"trace", fresh}}, {{"model", ""}}));
  CHECK(distinct_files({{"csv", ""}, {"trace", ""}}));
  CHECK(distinct_files({{"csv", "/dev/null"}, {"trace", "/dev/null"}}));
  for (const std::string& same : {there, scratch.path("./there"), hard}) {
    CHECK(distinct_files({{"out", there}, {"html", same}}).error()[0].code == "E114");
    CHECK(distinct_files({{"html", same}}, {{"model", there}}).error()[0].code == "E114");
  }
  CHECK(distinct_files({{"out", fresh}, {"html", scratch.path("./fresh")}}).error()[0].code ==
        "E114");
}
