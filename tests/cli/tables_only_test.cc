// A plimsoll that was built without Vega says so, and its pages have every figure in tables.
#include <doctest/doctest.h>

#include "tests/support/tables_only.h"

using namespace plimsoll::test;

TEST_CASE("cli: a build without Vega says so, and writes pages of tables") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string page = scratch.path("page.html");
  const Ran ran = run_tables_only(
      {"estimate", "builtin:alexnet", "--gpu", "l4", "--batch", "32", "--html", page});
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  CHECK(says(ran, "this build has no Vega"));
  const std::string html = detail::text_of(page);
  CHECK(html.find("draws no charts: every figure is in the tables") != html.npos);
  CHECK(html.find("id=\"vega\"") == html.npos);
  CHECK(html.find("<table") != html.npos);
  CHECK(html.find("id=\"plimsoll-result\"") != html.npos);
  CHECK(html.size() < 300'000);
  CHECK(run_tables_only({"compare", page, page}).status == 0);
}
