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
  CHECK_FALSE(prices.find(product(8, true)));
  KernelAt other = product(8);
  other.tensor_core = true;
  CHECK_FALSE(prices.find(other));
  other = product(8);
  other.op = "linear";
  CHECK_FALSE(prices.find(other));
}

TEST_CASE("kernel prices: whatever a kernel's problem differs in, it is another") {
  ConvProblem<int64_t> conv{.n = 8, .c = 64, .k = 32, .in = {1, 56, 56}, .out = {1, 56, 56}};
  RecurrentProblem<int64_t> cell{.input = 8, .hidden = 8, .batch = 2, .timesteps = 3};
  AttentionProblem<int64_t> heads{.batch = 2, .heads = 4, .kv_heads = 4, .queries = 8, .keys = 8};
  std::vector<ProblemOf<int64_t>> problems = {conv,
                                              cell,
                                              heads,
                                              RowsProblem<int64_t>{.rows = 2, .columns = 3},
                                              RowsProblem<int64_t>{.rows = 3, .columns = 2},
                                              RowsProblem<int64_t>{.rows = 1, .columns = 6},
                                              GemmProblem<int64_t>{.b_t = true},
                                              GemmProblem<int64_t>{.accumulate = true}};
  const auto with = [&](auto problem, auto change) {
    change(problem);
    problems.emplace_back(problem);
  };
  for (auto member : {&ConvProblem<int64_t>::in, &ConvProblem<int64_t>::out,
                      &ConvProblem<int64_t>::filter, &ConvProblem<int64_t>::pad,
                      &ConvProblem<int64_t>::stride, &ConvProblem<int64_t>::dilation}) {
    for (size_t i = 0; i < 3; ++i) with(conv, [&](auto& p) { (p.*member)[i] += 7; });
  }
  for (auto member : {&ConvProblem<int64_t>::n, &ConvProblem<int64_t>::c, &ConvProblem<int64_t>::k,
                      &ConvProblem<int64_t>::groups}) {
    with(conv, [&](auto& p) { p.*member += 7; });
  }
  with(conv, [](auto& p) { p.channels_last = true; });
  with(cell, [](auto& p) { p.cell = Cell::kGru; });
  with(cell, [](auto& p) { p.layers = 2; });
  with(cell, [](auto& p) { p.directions = 2; });
  with(cell, [](auto& p) { p.skip_input = true; });
  with(cell, [](auto& p) { p.unrolled = CellForm::kJoined; });
  with(cell, [](auto& p) { p.unrolled = CellForm::kApart; });
  with(heads, [](auto& p) { p.form = AttentionForm::kFlash; });
  with(heads, [](auto& p) { p.causal = true; });
  with(heads, [](auto& p) { p.masked = true; });
  with(heads, [](auto& p) { p.dropout = true; });
  with(heads, [](auto& p) { p.value_size = 8; });

  KernelPrices prices;
  std::vector<KernelAt> kernels;
  for (const auto& problem : problems) kernels.push_back({.op = "an operator", .problem = problem});
  for (const char* op : {"", "a", "b", "an operatos", "an operator of many words", "roperator"}) {
    kernels.push_back({.op = op});
  }
  // Names of every length, and with each letter another.
  for (const std::string letters = "abcdefghijklmnopqrstuvwxyz0123456"; const char& end : letters) {
    const std::string name(letters.data(), &end);
    if (name.size() > 1) kernels.push_back({.op = name});
    for (size_t i = 0; i < name.size(); ++i) {
      kernels.push_back({.op = name});
      kernels.back().op[i] = '_';
    }
  }
  std::vector<const KernelAt*> wanted;
  for (const KernelAt& kernel : kernels) wanted.push_back(&kernel);
  std::vector<const KernelTime*> found(kernels.size());
  prices.find(wanted, found);
  for (size_t i = 0; i < kernels.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i] == nullptr);
    CHECK(prices.find(kernels[i]) == nullptr);
    prices.keep(kernels[i], seconds(static_cast<double>(i)));
  }
  prices.find(wanted, found);
  for (size_t i = 0; i < kernels.size(); ++i) {
    REQUIRE(found[i] != nullptr);
    CHECK(found[i]->seconds == static_cast<double>(i));
    CHECK(found[i] == prices.find(kernels[i]));
  }
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
