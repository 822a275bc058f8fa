// The correction a calibration learnt from measured shapes: where it stands near one, what the
// formulas left over there is taken into account; away from all of them it fades to nothing. It
// depends on the problem and the card's name only, so a faster device never becomes slower by it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "estimator/time/lanes.h"
#include "hwdb/calibration.h"

namespace plimsoll {

inline constexpr size_t kMaxFeatures = 8;
// A problem's coordinates (estimator/time/features.h), then zeros.
using Features = std::array<double, kMaxFeatures>;
inline Features padded(std::span<const double> features) {
  Features all{};
  std::ranges::copy(features.first(std::min(features.size(), kMaxFeatures)), all.begin());
  return all;
}

struct Corrected {
  double log_factor = 0;  // ln(corrected / formula)
  double support = 0;     // 0 far from everything measured, 1 at a measured shape of this card
};

// The tents' product between two points; `reach` has their length. 1 where they agree.
double nearness(std::span<const double> a, std::span<const double> b,
                std::span<const double> reach);

// A correction, its points laid out for looking up. Points of a sweep differ in one feature, the
// swept one, and share what the others make of every point:
//
//   log_factor = sum over points of tent(swept feature) * weight * tents(other features) * kinship
//
// A knot is a place that points share in the swept feature. Knots lie side by side in piles, in
// order, and points of a knot one below the other. Of the piles on one side of a place, and within
// reach of it, all tents are on one slope, so that their sum is had from two sums over piles.
class CorrectionTable {
 public:
  // `swept`: a feature's index, 0 for a convolution, whose batch comes first.
  CorrectionTable(const Correction& correction, size_t swept);

  // `device` is an index into correction.devices, or -1 for a card that was not measured. Those
  // that differ in the swept feature alone share the work on the others: 0.5 microseconds for a
  // thousand points, then up to 0.05 each.
  void look_up(std::span<const Features> at, int device, std::span<Corrected> found) const;
  // At `features`, the swept one at each of `places` instead.
  void look_up(const Features& features, std::span<const double> places, int device,
               std::span<Corrected> found) const;

 private:
  // Single precision: 2e-5 of the factor at most, where the files have five digits.
  using Wide = LanesOf<float>;
  struct Pile {
    Wide knots;
    float low, high, middle;  // of them
    size_t rows;
  };
  struct Near {  // what the other features leave of a pile
    Wide weighted, support;
    float highest, before, after;  // support: of the pile, of it and all before it, and all after
    double weight, moment;         // sums of `weighted`, and by place, over the piles before it
  };
  // Into `near`, one for each pile and one for the end. Whether any point is.
  bool find_near(const Features& features, int device, std::span<Near> near) const;
  void sum_up(std::span<const Near> near, std::span<const double> places,
              std::span<Corrected> found) const;

  Features reach_;
  size_t swept_;
  double scale_ = 1;  // of a product of tents that are as high as they reach
  double kinship_;
  std::vector<size_t> still_;
  std::vector<std::pair<size_t, double>> shared_;  // features that all points agree in, and where
  std::vector<Pile> piles_;
  std::vector<Wide> rows_;  // by row: still features, device, 1 where there is a point, weight
};

}  // namespace plimsoll
