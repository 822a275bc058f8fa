// What is measured of a card beside kernels: its ways to the host and to its memory, and what a
// launch takes.
#pragma once

#include <vector>

#include "calibrate/card.h"
#include "calibrate/card/own_module.h"

namespace plimsoll::calibrate {

// "pinned_copy" and "pageable_copy" to the card, "..._back" from it, "device_copy" within, B/s of
// what is copied; "launch" and "launch_back_to_back", s: the host's time to queue a kernel that
// does nothing, and the card's to run one after the other. Throws CardFault.
std::vector<Figure> copy_figures(const Driver& driver, const OwnModule& module);

}  // namespace plimsoll::calibrate
