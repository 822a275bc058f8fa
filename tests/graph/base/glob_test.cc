#include "graph/base/glob.h"

#include <doctest/doctest.h>

namespace plimsoll {

TEST_CASE("stars match any characters, question marks one") {
  CHECK(matches("*", ""));
  CHECK(matches("a.*.weight", "a.b.c.weight"));
  CHECK(matches("layer?.*", "layer1.0.conv.weight"));
  CHECK(matches("*.bias", "a.bias.bias"));
  CHECK(matches("**x", "x"));
  CHECK_FALSE(matches("layer?.*", "layer10.weight"));
  CHECK_FALSE(matches("a.*", "a"));
  CHECK_FALSE(matches("", "a"));
  CHECK_FALSE(matches("*.weight", "a.weight.bias"));
  CHECK_FALSE(matches("a?", "a"));
}

}  // namespace plimsoll
