#include "monitor/ticker.h"

#include <doctest/doctest.h>

using plimsoll::monitor::Ticker;

TEST_CASE("samples are due at multiples of the interval, however long each takes") {
  Ticker ticker(1000, 20);
  CHECK(ticker.due() == 1000);
  ticker.taken(1007);
  CHECK(ticker.due() == 1020);
  ticker.taken(1039);
  CHECK(ticker.due() == 1040);
  CHECK(ticker.missed() == 0);
}

TEST_CASE("a sample that takes long misses those that were due, and does not shift the rest") {
  Ticker ticker(0, 20);
  ticker.taken(65);  // 20, 40 and 60 have passed
  CHECK(ticker.due() == 80);
  CHECK(ticker.missed() == 3);
  ticker.taken(81);
  CHECK(ticker.due() == 100);
  CHECK(ticker.missed() == 3);
}
