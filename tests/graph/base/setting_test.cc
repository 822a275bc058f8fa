#include "graph/base/setting.h"

#include <doctest/doctest.h>

#include <vector>

using namespace plimsoll;

namespace {

std::vector<Setting> settings_in(std::string_view text) {
  std::vector<Setting> found;
  with_settings(text, [&](const Setting& one) {
    found.push_back(one);
    return "";
  });
  return found;
}

std::string named(std::string_view text) {
  return with_settings(text, [](const Setting& one) { return "<" + one.name + ">"; });
}

}  // namespace

TEST_CASE("a setting in a text comes back as it was named") {
  const auto found =
      settings_in("give " + setting("batch", "32") + " or " + setting_entry("dim", "a b=c", "N") +
                  setting("gpu") + setting_entry("set", "x"));
  REQUIRE(found.size() == 4);
  CHECK(found[0].name == "batch");
  CHECK(found[0].value == "32");
  CHECK_FALSE(found[0].key);
  CHECK(found[1].key == "a b=c");
  CHECK(found[1].value == "N");
  CHECK(found[2].name == "gpu");
  CHECK(found[2].value.empty());
  CHECK(found[3].key == "x");
  CHECK(found[3].value.empty());
  CHECK(named("give " + setting("batch") + ".") == "give <batch>.");
}

TEST_CASE("a key of any bytes is one key") {
  for (const std::string key : {"\x02", "\x03", "\x1f", "\x10", "a\x02gpu\x03", "", "\x10\x03"}) {
    const auto found = settings_in(setting_entry("dim", key, "N") + setting("gpu"));
    REQUIRE(found.size() == 2);
    CHECK(found[0].key == key);
    CHECK(found[1].name == "gpu");
  }
}

TEST_CASE("what only looks like a setting stays") {
  for (const std::string text : {"", "plain", "\x02", "\x02gpu", "\x02gpu\x1f\x10", "\x03\x1f"})
    CHECK(named(text) == text);
  CHECK(named("\x02gpu" + setting("mem")) == "\x02gpu<mem>");
}
