// The correction a calibration learnt from measured shapes: where it stands near one, what the
// formulas left over there is taken into account; away from all of them it fades to nothing. It
// depends on the problem and the card's name only, so a faster device never becomes slower by it.
#pragma once

#include <span>

#include "hwdb/calibration.h"

namespace plimsoll {

struct Corrected {
  double log_factor = 0;  // ln(corrected / formula)
  double support = 0;     // 0 far from everything measured, 1 at a measured shape of this card
};

// The tents' product between two points; `reach` has their length. 1 where they agree.
double nearness(std::span<const double> a, std::span<const double> b,
                std::span<const double> reach);
// `device` is an index into correction.devices, or -1 for a card that was not measured.
Corrected correct(const Correction& correction, std::span<const double> features, int device);

}  // namespace plimsoll
