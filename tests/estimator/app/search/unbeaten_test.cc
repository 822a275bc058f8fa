#include "estimator/app/search/unbeaten.h"

#include <doctest/doctest.h>

#include <random>

using namespace plimsoll;

TEST_CASE("unbeaten: by hand") {
  const std::vector<MemoryAndPace> answers = {{10, 5}, {10, 6},       {8, 4}, {9, 3},
                                              {10, 6}, {4, 9, false}, {20, 7}};
  CHECK(pareto_front(answers) == std::vector<char>{0, 1, 1, 0, 0, 0, 1});
  CHECK(pareto_front({}).empty());
}

TEST_CASE("unbeaten: as the definition says") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<MemoryAndPace> answers(random() % 20);
    for (MemoryAndPace& a : answers)
      a = {static_cast<int64_t>(random() % 6), static_cast<double>(random() % 6), random() % 4 > 0};
    const std::vector<char> found = pareto_front(answers);
    for (size_t i = 0; i < answers.size(); ++i) {
      bool beaten = !answers[i].counts;
      for (size_t j = 0; j < answers.size(); ++j) {
        if (j == i || !answers[j].counts) continue;
        const bool same =
            answers[j].bytes == answers[i].bytes && answers[j].pace == answers[i].pace;
        const bool as_good =
            answers[j].bytes <= answers[i].bytes && answers[j].pace >= answers[i].pace;
        beaten = beaten || (same ? j < i : as_good);
      }
      CHECK((found[i] != 0) == !beaten);
    }
  }
}
