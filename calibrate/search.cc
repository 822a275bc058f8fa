#include "calibrate/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plimsoll {
namespace {

// The free coordinates of a point in a box, and the way back.
class Space {
 public:
  Space(const Objective& objective, Point full, const Box& box)
      : objective_(objective), full_(std::move(full)) {
    for (size_t i = 0; i < full_.size(); ++i) {
      if (box.high[i] <= box.low[i]) {
        full_[i] = box.low[i];
        continue;
      }
      index_.push_back(i);
      low_.push_back(box.low[i]);
      width_.push_back(box.high[i] - box.low[i]);
    }
  }
  size_t size() const { return index_.size(); }
  Point start() const {
    Point unit(size());
    for (size_t i = 0; i < size(); ++i) {
      unit[i] = std::clamp((full_[index_[i]] - low_[i]) / width_[i], 0.0, 1.0);
    }
    return unit;
  }
  Point expand(const Point& unit) const {
    Point point = full_;
    for (size_t i = 0; i < size(); ++i) {
      point[index_[i]] = low_[i] + width_[i] * std::clamp(unit[i], 0.0, 1.0);
    }
    return point;
  }
  // Outside the box a penalty leads back.
  double value(const Point& unit) const {
    double outside = 0;
    for (const double u : unit) outside += std::max({0.0, -u, u - 1});
    return objective_(expand(unit)) + outside;
  }

 private:
  const Objective& objective_;
  Point full_;
  std::vector<size_t> index_;
  Point low_, width_;
};

void search_coordinates(const Space& space, Point& best, double& least) {
  Point step(space.size(), .1);
  for (int round = 0; round < 12; ++round) {
    for (size_t i = 0; i < space.size(); ++i) {
      bool better = false;
      for (const double sign : {-1.0, 1.0}) {
        Point trial = best;
        trial[i] = std::clamp(trial[i] + sign * step[i], 0.0, 1.0);
        const double value = space.value(trial);
        if (value < least) {
          best = trial;
          least = value;
          better = true;
          break;
        }
      }
      if (!better) step[i] *= .5;
    }
  }
}

struct Simplex {
  std::vector<Point> points;
  std::vector<double> values;
  std::vector<size_t> order;  // by value

  void sort() {
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return values[a] < values[b]; });
  }
};

Simplex simplex_around(const Space& space, const Point& centre, double value) {
  const size_t n = space.size();
  Simplex s{std::vector<Point>(n + 1, centre), std::vector<double>(n + 1, value),
            std::vector<size_t>(n + 1)};
  for (size_t i = 0; i < n; ++i) {
    s.points[i + 1][i] += centre[i] > .92 ? -.08 : .08;
    s.values[i + 1] = space.value(s.points[i + 1]);
  }
  return s;
}

// Nelder and Mead with the adaptive coefficients of Gao and Han (2012), made for many coordinates.
void search_simplex(const Space& space, Point& best, double& least, int steps) {
  const size_t n = space.size();
  const double size = static_cast<double>(n);
  const double expansion = 1 + 2 / size, contraction = .75 - .5 / size, shrink = 1 - 1 / size;
  Simplex s = simplex_around(space, best, least);
  for (int step = 0; step < steps; ++step) {
    s.sort();
    const size_t worst = s.order[n];
    if (s.values[worst] - s.values[s.order[0]] < 1e-7) break;
    Point middle(n, 0);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) middle[j] += s.points[s.order[i]][j] / size;
    }
    const auto along = [&](double t) {
      Point p(n);
      for (size_t j = 0; j < n; ++j) p[j] = middle[j] + t * (s.points[worst][j] - middle[j]);
      return p;
    };
    const auto replace = [&](Point p, double value) {
      s.points[worst] = std::move(p);
      s.values[worst] = value;
    };
    Point reflected = along(-1);
    const double value = space.value(reflected);
    if (value < s.values[s.order[0]]) {
      Point further = along(-expansion);
      const double far = space.value(further);
      far < value ? replace(further, far) : replace(reflected, value);
      continue;
    }
    if (value < s.values[s.order[n - 1]]) {
      replace(reflected, value);
      continue;
    }
    Point nearer = along(value < s.values[worst] ? -contraction : contraction);
    const double near = space.value(nearer);
    if (near < std::min(value, s.values[worst])) {
      replace(nearer, near);
      continue;
    }
    for (size_t i = 1; i <= n; ++i) {
      Point& p = s.points[s.order[i]];
      for (size_t j = 0; j < n; ++j) p[j] += (1 - shrink) * (s.points[s.order[0]][j] - p[j]);
      s.values[s.order[i]] = space.value(p);
    }
  }
  s.sort();
  if (s.values[s.order[0]] < least) {
    least = s.values[s.order[0]];
    best = s.points[s.order[0]];
  }
}

}  // namespace

Point minimise(const Objective& objective, Point start, const Box& box, int steps) {
  const Space space(objective, std::move(start), box);
  Point best = space.start();
  double least = space.value(best);
  if (space.size() > 1) {
    for (int turn = 0; turn < 2; ++turn) {
      search_coordinates(space, best, least);
      search_simplex(space, best, least, steps);
    }
  } else if (space.size() == 1) {
    search_coordinates(space, best, least);
  }
  return space.expand(best);
}

}  // namespace plimsoll
