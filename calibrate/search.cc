#include "calibrate/search.h"

#include <Eigen/Core>

#include <algorithm>
#include <numeric>

namespace plimsoll {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// The free coordinates of a point in a box, each from 0 to 1, and the way back.
class Space {
 public:
  Space(const Objective& objective, Point full, const Box& box)
      : objective_(objective), full_(std::move(full)) {
    for (size_t i = 0; i < full_.size(); ++i) {
      if (box.high[i] <= box.low[i]) full_[i] = box.low[i];
      if (box.high[i] > box.low[i]) index_.push_back(i);
    }
    low_.resize(size());
    width_.resize(size());
    for (Eigen::Index i = 0; i < size(); ++i) {
      low_[i] = box.low[free(i)];
      width_[i] = box.high[free(i)] - box.low[free(i)];
    }
  }
  Eigen::Index size() const { return static_cast<Eigen::Index>(index_.size()); }
  VectorXd start() const {
    VectorXd point(size());
    for (Eigen::Index i = 0; i < size(); ++i) point[i] = full_[free(i)];
    return inside((point - low_).cwiseQuotient(width_));
  }
  Point expand(const VectorXd& unit) const {
    const VectorXd free_part = low_ + width_.cwiseProduct(inside(unit));
    Point point = full_;
    for (Eigen::Index i = 0; i < size(); ++i) point[free(i)] = free_part[i];
    return point;
  }
  // Outside the box a penalty leads back.
  double value(const VectorXd& unit) const {
    return objective_(expand(unit)) + (unit - inside(unit)).lpNorm<1>();
  }

 private:
  size_t free(Eigen::Index i) const { return index_[static_cast<size_t>(i)]; }
  static VectorXd inside(const VectorXd& unit) { return unit.cwiseMax(0.0).cwiseMin(1.0); }

  const Objective& objective_;
  Point full_;
  std::vector<size_t> index_;
  VectorXd low_, width_;
};

void search_coordinates(const Space& space, VectorXd& best, double& least) {
  VectorXd step = VectorXd::Constant(space.size(), .1);
  for (int round = 0; round < 12; ++round) {
    for (Eigen::Index i = 0; i < space.size(); ++i) {
      bool better = false;
      for (const double sign : {-1.0, 1.0}) {
        VectorXd trial = best;
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
  MatrixXd points;  // a column each
  VectorXd values;
  std::vector<Eigen::Index> order;  // by value

  void sort() {
    std::iota(order.begin(), order.end(), Eigen::Index{0});
    std::ranges::stable_sort(order, {}, [&](Eigen::Index i) { return values[i]; });
  }
};

Simplex simplex_around(const Space& space, const VectorXd& centre, double value) {
  const Eigen::Index n = space.size();
  Simplex s{centre.replicate(1, n + 1), VectorXd::Constant(n + 1, value),
            std::vector<Eigen::Index>(static_cast<size_t>(n) + 1)};
  for (Eigen::Index i = 0; i < n; ++i) {
    s.points(i, i + 1) += centre[i] > .92 ? -.08 : .08;
    s.values[i + 1] = space.value(s.points.col(i + 1));
  }
  return s;
}

// Nelder and Mead with the adaptive coefficients of Gao and Han (2012), made for many coordinates.
void search_simplex(const Space& space, VectorXd& best, double& least, int steps) {
  const size_t n = static_cast<size_t>(space.size());
  const double size = static_cast<double>(n);
  const double expansion = 1 + 2 / size, contraction = .75 - .5 / size, shrink = 1 - 1 / size;
  Simplex s = simplex_around(space, best, least);
  for (int step = 0; step < steps; ++step) {
    s.sort();
    const Eigen::Index worst = s.order[n];
    if (s.values[worst] - s.values[s.order[0]] < kConverged) break;
    VectorXd middle = VectorXd::Zero(space.size());
    for (size_t i = 0; i < n; ++i) middle += s.points.col(s.order[i]) / size;
    const auto along = [&](double t) -> VectorXd {
      return middle + t * (s.points.col(worst) - middle);
    };
    const auto replace = [&](const VectorXd& p, double value) {
      s.points.col(worst) = p;
      s.values[worst] = value;
    };
    const VectorXd reflected = along(-1);
    const double value = space.value(reflected);
    if (value < s.values[s.order[0]]) {
      const VectorXd further = along(-expansion);
      const double far = space.value(further);
      far < value ? replace(further, far) : replace(reflected, value);
      continue;
    }
    if (value < s.values[s.order[n - 1]]) {
      replace(reflected, value);
      continue;
    }
    const VectorXd nearer = along(value < s.values[worst] ? -contraction : contraction);
    const double near = space.value(nearer);
    if (near < std::min(value, s.values[worst])) {
      replace(nearer, near);
      continue;
    }
    for (size_t i = 1; i <= n; ++i) {
      auto p = s.points.col(s.order[i]);
      p += (1 - shrink) * (s.points.col(s.order[0]) - p);
      s.values[s.order[i]] = space.value(p);
    }
  }
  s.sort();
  if (s.values[s.order[0]] < least) {
    least = s.values[s.order[0]];
    best = s.points.col(s.order[0]);
  }
}

}  // namespace

Point minimise(const Objective& objective, Point start, const Box& box, int steps) {
  const Space space(objective, std::move(start), box);
  VectorXd best = space.start();
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
