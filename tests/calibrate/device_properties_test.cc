#include "calibrate/device_properties.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "hwdb/hwdb.h"

using namespace plimsoll;
using nlohmann::json;

namespace {

json described(const char* gpu) {
  const auto device = Hwdb().device(gpu);
  REQUIRE(device);
  const auto text = device_properties(*device);
  REQUIRE(text);
  return json::parse(*text);
}

}  // namespace

// What deviceQuery prints of these cards.
TEST_CASE("a GPU described to cuDNN") {
  const json xp = described("titan-xp");
  CHECK(xp["deviceVer"] == 610);
  CHECK(xp["multiProcessorCount"] == 30);
  CHECK(xp["smClockRateKHz"] == 1582000);
  CHECK(xp["memClockRateKHz"].get<double>() == doctest::Approx(5705000).epsilon(0.001));
  CHECK(xp["l2CacheSize"] == 3145728);
  CHECK(xp["maxSharedMemoryPerBlockOptin"] == 49152);
  CHECK(xp["reservedSharedMemoryPerBlock"] == 0);
  CHECK(xp["maxGridSize"] == json::array({2147483647, 65535, 65535}));
  const json h100 = described("h100");
  CHECK(h100["deviceVer"] == 900);
  CHECK(h100["smClockRateKHz"] == 1980000);
  CHECK(h100["memClockRateKHz"].get<double>() == doctest::Approx(2619000).epsilon(0.001));
  CHECK(h100["maxSharedMemoryPerBlockOptin"] == 232448);
  CHECK(h100["reservedSharedMemoryPerBlock"] == 1024);
}

TEST_CASE("every GPU that cuDNN 9 knows can be described, and older ones are refused") {
  Diagnostics warnings;
  for (const Device& device : Hwdb().devices(warnings)) {
    CAPTURE(device.id);
    const auto text = device_properties(device);
    if (device.compute_capability.major < 5) {
      REQUIRE_FALSE(text);
      CHECK(text.error()[0].code == "E703");
      CHECK(text.error()[0].message.find(device.id) != std::string::npos);
      continue;
    }
    REQUIRE(text);
    if (device.id == "unit") continue;  // one byte a second
    CHECK(json::parse(*text)["memClockRateKHz"].get<int64_t>() > 0);
  }
}
