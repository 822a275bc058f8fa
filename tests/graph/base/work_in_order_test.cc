#include "graph/base/work_in_order.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

using namespace plimsoll;

namespace {

// Later units are done sooner.
Worker<size_t> slow_square(size_t units) {
  return [units](size_t unit) {
    std::this_thread::sleep_for(std::chrono::microseconds(50 * (units - unit)));
    return unit * unit;
  };
}

}  // namespace

TEST_CASE(
    "work in order: answers come by number, on the calling thread, from any number of threads") {
  constexpr size_t kUnits = 40;
  for (const size_t threads : {0, 1, 2, 7, 100}) {
    const auto here = std::this_thread::get_id();
    std::vector<size_t> answers;
    work_in_order<size_t>(
        kUnits, threads, [] { return slow_square(kUnits); },
        [&](size_t answer) {
          CHECK(std::this_thread::get_id() == here);
          answers.push_back(answer);
          return true;
        });
    REQUIRE(answers.size() == kUnits);
    for (size_t i = 0; i < kUnits; ++i) CHECK(answers[i] == i * i);
  }
}

TEST_CASE("work in order: none is begun far ahead of who takes it, nor after enough") {
  std::atomic<size_t> begun = 0;
  size_t taken = 0;
  constexpr size_t kThreads = 3, kEnough = 5;
  work_in_order<size_t>(
      1000, kThreads,
      [&]() -> Worker<size_t> { return [&](size_t unit) { return ++begun, unit; }; },
      [&](size_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return ++taken < kEnough;
      });
  CHECK(taken == kEnough);
  CHECK(begun <= kEnough + 5 * kThreads);
}

TEST_CASE("work in order: each thread has one worker, which is asked in ascending order") {
  std::atomic<int> workers = 0;
  std::atomic<bool> ascending = true;
  const auto make = [&]() -> Worker<size_t> {
    ++workers;
    return [&, last = size_t{0}](size_t unit) mutable {
      ascending = ascending && unit >= last;
      return last = unit;
    };
  };
  work_in_order<size_t>(200, 4, make, [](size_t) { return true; });
  CHECK(workers <= 4);
  CHECK(ascending);
}

TEST_CASE("work in order: what a worker throws is thrown to the caller") {
  const auto make = []() -> Worker<size_t> {
    return [](size_t unit) { return unit == 9 ? throw std::length_error("nine") : unit; };
  };
  for (const size_t threads : {1, 3})
    CHECK_THROWS_AS(work_in_order<size_t>(20, threads, make, [](size_t) { return true; }),
                    std::length_error);
}
