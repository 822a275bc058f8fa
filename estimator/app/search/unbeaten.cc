#include "estimator/app/search/unbeaten.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <tuple>

namespace plimsoll {

std::vector<char> pareto_front(std::span<const MemoryAndPace> answers) {
  std::vector<size_t> order(answers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return std::tuple(answers[a].bytes, -answers[a].pace, a) <
           std::tuple(answers[b].bytes, -answers[b].pace, b);
  });
  std::vector<char> is(answers.size(), 0);
  double fastest = -std::numeric_limits<double>::infinity();
  for (const size_t i : order) {
    if (!answers[i].counts || answers[i].pace <= fastest) continue;
    fastest = answers[i].pace;
    is[i] = 1;
  }
  return is;
}

}  // namespace plimsoll
