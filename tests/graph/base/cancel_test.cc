#include "graph/base/cancel.h"

#include <doctest/doctest.h>

#include <thread>

using namespace plimsoll;

TEST_CASE("work is called off where its thread's innermost caller says so") {
  CHECK_NOTHROW(check_cancelled());
  const CancelWhen always([] { return true; });
  CHECK_THROWS_AS(check_cancelled(), Cancelled);
  {
    const CancelWhen never(nullptr);
    CHECK_NOTHROW(check_cancelled());
  }
  CHECK_THROWS_AS(check_cancelled(), Cancelled);
  std::thread([] { CHECK_NOTHROW(check_cancelled()); }).join();
}
