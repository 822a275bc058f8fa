#include "estimator/app/search/max_batch.h"

#include <doctest/doctest.h>

#include <random>

using namespace plimsoll;

namespace {

// Memory that grows with the batch in steps, with dips of up to four batches.
struct Steps {
  int64_t base, slope, granule;
  std::vector<int64_t> noise;
  int64_t range;  // percent

  BatchPoint at(int64_t batch) const {
    const int64_t exact = base + slope * batch + noise[static_cast<size_t>(batch) % noise.size()];
    const int64_t bytes = (exact + granule - 1) / granule * granule;
    return {batch, bytes, bytes - bytes * range / 100, bytes + bytes * range / 100};
  }
};

Steps random_steps(std::mt19937& random) {
  Steps steps{.base = static_cast<int64_t>(random() % 5000),
              .slope = 50 + static_cast<int64_t>(random() % 1000),
              .granule = 1 + static_cast<int64_t>(random() % 100),
              .noise = {},
              .range = static_cast<int64_t>(random() % 15)};
  for (int i = 0; i < 97; ++i) {
    steps.noise.push_back(static_cast<int64_t>(random() % static_cast<uint32_t>(2 * steps.slope)));
  }
  return steps;
}

}  // namespace

TEST_CASE("max batch equals brute force on functions that grow in noisy steps") {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const Steps steps = random_steps(random);
    const MaxBatchQuery query{.capacity = static_cast<int64_t>(random() % 200000),
                              .reserve = static_cast<int64_t>(random() % 3000) * (round % 2),
                              .multiple = 1 + static_cast<int64_t>(random() % 8),
                              .max = 16 + static_cast<int64_t>(random() % 3000),
                              .start = static_cast<int64_t>(random() % 200)};
    int64_t safe = 0, last = 0;
    for (int64_t b = query.multiple; b <= query.max; b += query.multiple) {
      if (steps.at(b).high <= query.capacity - query.reserve) safe = b;
      if (steps.at(b).low <= query.capacity - query.reserve) last = b;
    }
    int calls = 0;
    const auto answer = max_batch(
        [&](int64_t batch) -> Result<BatchPoint> {
          ++calls;
          return steps.at(batch);
        },
        query);
    REQUIRE(answer.has_value());
    CAPTURE(round);
    CHECK(answer->safe == safe);
    CHECK(answer->last_may_fit == last);
    CHECK(answer->first_may_fit == (last > safe ? safe + query.multiple : safe));
    CHECK(calls == static_cast<int>(answer->points.size()));
    CHECK(calls <= 64);
  }
}

TEST_CASE("max batch: nothing fits, everything fits, errors pass through") {
  const auto constant = [](int64_t bytes) {
    return [bytes](int64_t batch) -> Result<BatchPoint> {
      return BatchPoint{batch, bytes, bytes, bytes};
    };
  };
  CHECK(max_batch(constant(11), {.capacity = 10})->safe == 0);
  CHECK(max_batch(constant(11), {.capacity = 10})->last_may_fit == 0);
  CHECK(max_batch(constant(10), {.capacity = 10, .multiple = 3, .max = 100})->safe == 99);
  CHECK(max_batch(constant(10), {.capacity = 10, .multiple = 3, .max = 100})->searched_to == 99);
  CHECK(max_batch(constant(1), {.capacity = 10, .multiple = 0}).error()[0].code == "E121");
  const auto broken = [](int64_t) -> Result<BatchPoint> { return error("E131", "no"); };
  CHECK(max_batch(broken, {.capacity = 10}).error()[0].code == "E131");
}
