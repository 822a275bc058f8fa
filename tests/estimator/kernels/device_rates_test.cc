#include "estimator/kernels/device_rates.h"

#include <doctest/doctest.h>

#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

DeviceRates rates(std::string_view id) {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  const auto card = hwdb->device(id);
  REQUIRE(card.has_value());
  return rates_of(*card);
}

TEST_CASE("a card that reaches more than its printed boost does so in light kernels") {
  const DeviceRates geforce = rates("rtx-3090"), fixed = rates("h100-sxm-80gb");
  CHECK(geforce.light_clock() > 1.1 * geforce.clock);
  CHECK(geforce.light_clock() < geforce.maximum_clock * geforce.clock);
  CHECK(fixed.light_clock() == fixed.clock);
}

}  // namespace
}  // namespace plimsoll
