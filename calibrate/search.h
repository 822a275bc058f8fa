// Search for the minimum of a function that has corners and plateaus: coordinates first, then
// Nelder and Mead's simplex, in a box. Deterministic.
#pragma once

#include <functional>
#include <vector>

namespace plimsoll {

using Point = std::vector<double>;
using Objective = std::function<double(const Point&)>;

struct Box {
  Point low, high;  // where equal, the coordinate stays
};

// Of an objective: the search ends where it gains less, and tells no smaller difference.
inline constexpr double kConverged = 1e-7;

// The best point found from `start`, inside the box; at most about `steps` simplex steps, twice.
Point minimise(const Objective& objective, Point start, const Box& box, int steps);

}  // namespace plimsoll
