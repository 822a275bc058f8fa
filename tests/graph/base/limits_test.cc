#include "graph/base/limits.h"

#include <doctest/doctest.h>

#include <set>

#include "graph/base/setting.h"

using namespace plimsoll;

TEST_CASE("every limit can be raised by its name and is reported with its flag") {
  std::set<std::string_view> names;
  for (const LimitRow& row : limit_rows()) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    Limits limits;
    REQUIRE(set_limit(limits, row.name, 7));
    CHECK(limits.*(row.member) == 7);
    const Diagnostics refused = over_limit(limits, row.name).value();
    CHECK(refused[0].code == row.code);
    CHECK(refused[0].message.find("more than 7 ") == 0);
    CHECK(refused[0].help.find(setting_entry("limit", row.name, "N")) != std::string::npos);
    CHECK(exit_status(refused) == 5);
  }
}

TEST_CASE("unknown limits and senseless values are usage errors") {
  Limits limits;
  const auto unknown = set_limit(limits, "node", 5);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error()[0].code == "E110");
  CHECK(unknown.error()[0].help == "did you mean 'nodes'?");
  const auto zero = set_limit(limits, "nodes", 0);
  REQUIRE_FALSE(zero);
  CHECK(zero.error()[0].code == "E111");
  CHECK(exit_status(zero.error()) == 2);
}
