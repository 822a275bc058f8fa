#include "monitor/duration.h"

#include <doctest/doctest.h>

using plimsoll::monitor::parse_duration;

TEST_CASE("times carry their unit") {
  const auto ns = [](std::string_view text) {
    return parse_duration("--interval", text, 1'000'000, 3'600'000'000'000).value_or(-1);
  };
  CHECK(ns("20ms") == 20'000'000);
  CHECK(ns("1s") == 1'000'000'000);
  CHECK(ns("0.5s") == 500'000'000);
  CHECK(ns("2min") == 120'000'000'000);
  CHECK(ns("1500us") == 1'500'000);
}

TEST_CASE("what is no time, or out of range, is refused") {
  for (const char* text : {"", "20", "ms", "20 ms", "-1s", "+1s", "1e3ms", "nan", "inf s", "20msx",
                           "0ms", "999us", "61min", "1h", "99999999999999999999999999s"}) {
    CAPTURE(text);
    const auto parsed = parse_duration("--interval", text, 1'000'000, 3'600'000'000'000);
    REQUIRE(!parsed);
    CHECK(parsed.error().front().code == "E103");
  }
}
