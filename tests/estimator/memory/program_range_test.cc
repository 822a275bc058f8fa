// The range of memory of a program that does more than steps.
#include <doctest/doctest.h>

#include "estimator/request/trainer.h"
#include "tests/support/requests.h"

namespace plimsoll {

TEST_CASE("memory range: as wide as the program's runs, around the same bytes") {
  Request request = test::request("builtin:gpt2", "a100-sxm-40gb", 2);
  request.dims["sequence"] = 128;
  const MemoryEstimate of_steps = test::answer(request).memory;
  request.trainer = find_trainer("hf");
  const MemoryEstimate of_program = test::answer(request).memory;
  CHECK(of_program.device_bytes == of_steps.device_bytes);
  const auto bytes = static_cast<double>(of_program.device_bytes);
  const MemorySpread& spread = request.trainer->spread;
  CHECK(static_cast<double>(of_program.device_range.low) ==
        doctest::Approx((1 - spread.less) * bytes));
  CHECK(static_cast<double>(of_program.device_range.high) ==
        doctest::Approx((1 + spread.more) * bytes));
  CHECK(of_steps.device_range.low > of_program.device_range.low);
  CHECK(of_steps.device_range.high < of_program.device_range.high);
}

}  // namespace plimsoll
