#include "graph/base/text.h"

#include <doctest/doctest.h>

using namespace plimsoll;

using Parts = std::vector<std::string_view>;

TEST_CASE("text: parts are taken one by one, or all at once") {
  std::string_view rest = "a,,b";
  CHECK(take_part(rest, ',') == "a");
  CHECK(rest == ",b");
  CHECK(take_part(rest, ',').empty());
  CHECK(take_part(rest, ',') == "b");
  CHECK(rest.empty());
  CHECK(split("a,,b", ',') == Parts{"a", "", "b"});
  CHECK(split("a,", ',') == Parts{"a", ""});
  CHECK(split("", ',') == Parts{""});
}

TEST_CASE("text: ends are trimmed, letters lowered, numbers read whole or not at all") {
  CHECK(trimmed(" \ta b\r\n") == "a b");
  CHECK(trimmed(" \n").empty());
  CHECK(lower_case("RTX-4090 \xc3\x84") == "rtx-4090 \xc3\x84");
  CHECK(parse_number<int64_t>("-12") == -12);
  CHECK(parse_number<double>("1.5e3") == 1500);
  for (const char* text : {"", "12 ", "1x", "99999999999999999999"})
    CHECK_FALSE(parse_number<int64_t>(text));
}
