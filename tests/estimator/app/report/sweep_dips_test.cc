#include <doctest/doctest.h>

#include "estimator/app/report/sweep.h"

using namespace plimsoll;

namespace {

// A grid whose points take `bytes`, in the grid's order, in two variants.
Diagnostics told(const std::vector<SizeAxis>& sizes, const std::vector<int64_t>& bytes) {
  SweepDips dips(sizes);
  for (size_t variant = 0; variant < 2; ++variant) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      SweepPoint point;
      point.variant = variant;
      point.point = static_cast<int64_t>(i);
      // The second variant takes less throughout, which is no dip of the first.
      point.device_bytes = bytes[i] - static_cast<int64_t>(variant);
      dips.add(point);
    }
  }
  return dips.told();
}

}  // namespace

TEST_CASE("sweep: where memory falls along the batch is said once, with the batch") {
  CHECK(told({{"batch", {1, 2, 3}}}, {10, 20, 20}).empty());
  const Diagnostics one = told({{"batch", {1, 2, 3}}}, {10, 20, 15});
  REQUIRE(one.size() == 1);
  CHECK(one.front().code == "N121");
  CHECK(one.front().severity == Severity::kNote);
  CHECK(one.front().message.starts_with("2 configurations take less memory"));
  CHECK(one.front().message.find("the first at batch 3") != std::string::npos);
  // Listed from the largest down.
  CHECK(told({{"batch", {3, 2, 1}}}, {20, 20, 10}).empty());
  CHECK(told({{"batch", {3, 2, 1}}}, {15, 20, 10}).size() == 1);
}

TEST_CASE("sweep: only points that differ in the batch alone are compared") {
  const std::vector<SizeAxis> outer = {{"sequence", {8, 4}}, {"batch", {1, 2}}};
  CHECK(told(outer, {50, 60, 20, 30}).empty());
  CHECK(told(outer, {50, 60, 30, 20}).size() == 1);
  const std::vector<SizeAxis> inner = {{"batch", {1, 2}}, {"sequence", {8, 4}}};
  CHECK(told(inner, {50, 20, 60, 30}).empty());
  CHECK(told(inner, {50, 30, 60, 20}).size() == 1);
  CHECK(told({{"sequence", {8, 4}}}, {50, 20}).empty());
}
