#include "estimator/memory/confidence.h"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace plimsoll;

TEST_CASE("confidence: the usual range stays as it is, others grow with the confidence") {
  const Range usual{.low = 800, .high = 1300};
  const Range same = at_confidence(usual, 1000, kUsualConfidence);
  CHECK(same.low == usual.low);
  CHECK(same.high == usual.high);
  int64_t before = 0;
  for (const double confidence : {.5, .6, .68, .75, .8, .9, .93, .95, .97, .98, .99}) {
    CAPTURE(confidence);
    const Range range = at_confidence(usual, 1000, confidence);
    CHECK(range.high - 1000 > before);
    CHECK(std::abs((range.high - 1000) * 2 - (1000 - range.low) * 3) <= 5);
    before = range.high - 1000;
  }
  CHECK(at_confidence(usual, 1000, .99).high == 1000 + 663);
  CHECK(at_confidence({.low = 0, .high = 10}, 5, .99).low == 0);
}
