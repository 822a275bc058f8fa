#include "hwdb/version.h"

#include <doctest/doctest.h>

using namespace plimsoll;

TEST_CASE("version: numbers are compared as numbers") {
  const auto v = [](const char* text) { return *parse_version(text); };
  CHECK(v("1.4") < v("1.13"));
  CHECK(v("1.13") < v("1.13.1"));
  CHECK(v("2") == v("2.0.0"));
  CHECK_FALSE(v("2.0") < v("1.99"));
  CHECK(v("1.13.1+cu117").text() == "1.13.1");
  CHECK(v("0.9.0rc1").text() == "0.9.0");
  CHECK(v("0.1.12_2").text() == "0.1.12");
  CHECK(v("8.").text() == "8");
  for (const char* text : {"", "x", ".1", "-1", "99999999999999999999", "v2"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_version(text));
  }
}
