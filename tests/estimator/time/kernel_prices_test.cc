#include "estimator/time/kernel_prices.h"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

namespace plimsoll {
namespace {

KernelAt product(int64_t m, bool a_t = false) {
  GemmProblem<int64_t> problem{.m = m, .n = 64, .k = 32, .batch = 1, .a_t = a_t};
  return {.kernel_class = KernelClass::kGemm, .op = "gemm", .flop = 128 * m, .problem = problem};
}

KernelTime seconds(double value) {
  KernelTime time;
  time.seconds = value;
  return time;
}

}  // namespace

TEST_CASE("kernel prices: what was kept is found, and nothing that differs anywhere") {
  KernelPrices prices;
  prices.keep(product(8), seconds(1));
  REQUIRE(prices.find(product(8)));
  CHECK(prices.find(product(8))->seconds == 1);
  CHECK_FALSE(prices.find(product(9)));
  CHECK_FALSE(prices.find(product(8, true)));  // alike for the hash
  KernelAt other = product(8);
  other.tensor_core = true;
  CHECK_FALSE(prices.find(other));
  other = product(8);
  other.op = "linear";
  CHECK_FALSE(prices.find(other));
}

TEST_CASE("kernel prices: memory is bounded, what was kept first stays") {
  KernelPrices prices;
  constexpr auto kMost = static_cast<int64_t>(KernelPrices::kMost);
  prices.keep(product(1), seconds(1));
  const KernelTime* first = prices.find(product(1));
  for (int64_t m = 1; m <= 2 * kMost; ++m) prices.keep(product(m), seconds(2));
  CHECK(prices.find(product(1)) == first);
  CHECK(first->seconds == 1);
  int64_t found = 0;
  for (int64_t m = 1; m <= 2 * kMost; ++m) found += prices.find(product(m)) != nullptr;
  CHECK(found == kMost);
}

TEST_CASE("kernel prices: threads find what each other kept") {
  KernelPrices prices;
  const auto work = [&] {
    for (int64_t m = 1; m <= 2000; ++m) {
      if (prices.find(product(m)) == nullptr)
        prices.keep(product(m), seconds(static_cast<double>(m)));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  for (int64_t m = 1; m <= 2000; ++m) {
    REQUIRE(prices.find(product(m)));
    CHECK(prices.find(product(m))->seconds == static_cast<double>(m));
  }
}

TEST_CASE("a kernel costs the second time what it cost the first") {
  DeviceRates rates{.id = "unit", .compute_capability = 52, .sms = 1, .bandwidth = 1};
  rates.peak.fill(1);
  const TimeContext context(rates, {});
  const KernelTime first = kernel_time(product(100), context);
  const KernelTime again = kernel_time(product(100), context);
  CHECK(first.seconds > 0);
  CHECK(first.seconds == again.seconds);
  CHECK(first.high == again.high);
  CHECK(first.algorithm == again.algorithm);
  CHECK(context.prices().find(product(100)));
}

}  // namespace plimsoll
