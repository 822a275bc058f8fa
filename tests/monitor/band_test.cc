#include "monitor/band.h"

#include <doctest/doctest.h>

#include "tests/support/requests.h"
#include "tests/support/samples.h"

using namespace plimsoll::monitor;
using plimsoll::test::card;
using plimsoll::test::host_sample;
using plimsoll::test::kMebibyte;

namespace {

Sample on_card(double seconds, int64_t mib) {
  Sample sample = host_sample(seconds, 100);
  sample.devices = {{.gpu = card(40, {}), .bytes = mib * kMebibyte}};
  return sample;
}

}  // namespace

TEST_CASE("leaving the predicted range upwards is told once, and coming back too") {
  BandWatch watch({.device = Predicted{1000 * kMebibyte, {900 * kMebibyte, 1100 * kMebibyte}}});
  CHECK(watch.take(on_card(0, 10)).empty());  // a run begins below
  CHECK(watch.take(on_card(1, 1100)).empty());
  CHECK(!watch.was_left());
  const auto left = watch.take(on_card(2, 1101));
  REQUIRE(left.size() == 1);
  CHECK(left[0].to == BandPlace::kAbove);
  CHECK(left[0].bytes == 1101 * kMebibyte);
  CHECK(watch.take(on_card(3, 1200)).empty());
  const auto back = watch.take(on_card(4, 1000));
  REQUIRE(back.size() == 1);
  CHECK(back[0].to == BandPlace::kWithin);
  CHECK(watch.was_left());
}

TEST_CASE("without a card's figure nothing is left") {
  BandWatch watch({.device = Predicted{10, {5, 20}}});
  CHECK(watch.take(host_sample(0, 1000)).empty());
}

TEST_CASE("the host's range is watched where it is known") {
  BandWatch watch({.host = Predicted{100 * kMebibyte, {90 * kMebibyte, 110 * kMebibyte}}});
  CHECK(watch.take(host_sample(0, 100)).empty());
  const auto left = watch.take(host_sample(1, 120));
  REQUIRE(left.size() == 1);
  CHECK(!left[0].of_device);
}

TEST_CASE("a peak is below, within or above") {
  const Predicted predicted{10, {5, 20}};
  CHECK(place_in(predicted, 4) == BandPlace::kBelow);
  CHECK(place_in(predicted, 5) == BandPlace::kWithin);
  CHECK(place_in(predicted, 20) == BandPlace::kWithin);
  CHECK(place_in(predicted, 21) == BandPlace::kAbove);
}

TEST_CASE("the band is the estimate's") {
  const plimsoll::Estimate estimate =
      plimsoll::test::answer(plimsoll::test::request("builtin:alexnet", "tesla-t4"));
  const Band band = band_of(estimate);
  REQUIRE(band.device);
  CHECK(band.device->bytes == estimate.memory.device_bytes);
  CHECK(band.device->range.low == estimate.memory.device_range.low);
  CHECK(band.device->range.high == estimate.memory.device_range.high);
  CHECK(band.device_id == "tesla-t4");
  CHECK(band.step_ns == estimate.time.step_ns);
  CHECK(!band.host);  // how data are loaded was not said
}
